package names

import (
	"go/ast"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Wrapper is the generated type for handlers on typeName: "IdempotentService". For a package's functions typeName is
// empty. It is exported where the handlers can be reached from outside.
func Wrapper(typeName string, exported bool) string {
	if exported {
		return "Idempotent" + title(typeName)
	}
	return "idempotent" + title(typeName)
}

// Constructor is the function that makes a wrapper: "NewIdempotentService", or "newIdempotentService" where the wrapper
// is unexported.
func Constructor(wrapper string) string {
	if ast.IsExported(wrapper) {
		return "New" + wrapper
	}
	return "new" + title(wrapper)
}

// Guarded is the wrapper's field that holds a method's handler: "guardedPlaceOrder".
func Guarded(method string) string { return "guarded" + title(method) }

// Accessor is the wrapper's method that returns a method's handler: "PlaceOrderHandler".
func Accessor(method string) string { return method + "Handler" }

// Spec is the variable that specifies a handler: "specServicePlaceOrder". For a package's functions typeName is empty.
func Spec(typeName, method string) string { return "spec" + title(typeName) + title(method) }

// Transition is the variable that specifies a handler's change of state: "transitionServiceConfirmOrder".
func Transition(typeName, method string) string {
	return "transition" + title(typeName) + title(method)
}

// ArgsStruct is the generated struct of a handler with several parameters: "PlaceOrderArgs", or with a typeName
// "ServicePlaceOrderArgs". It is exported where its wrapper and its method both are: nobody else can come by one.
func ArgsStruct(typeName, method string, exported bool) string {
	name := method
	if typeName != "" {
		name = typeName + title(method)
	}
	if exported && ast.IsExported(method) {
		return title(name) + "Args"
	}
	return Unexported(name) + "Args"
}

// initialisms are the words that Go writes in one case: those that staticcheck knows.
var initialisms = []string{
	"acl", "amqp", "api", "ascii", "cpu", "css", "db", "dns", "eof", "gid", "guid", "html", "http", "https", "id", "ip", "json",
	"qps", "ram", "rpc", "rtp", "sip", "sla", "smtp", "sql", "ssh", "tcp", "tls", "ts", "ttl", "udp", "ui", "uid", "uri", "url",
	"utf8", "uuid", "vm", "xml", "xmpp", "xsrf", "xss",
}

// Exported is name as an exported identifier: "Log" for log, "ID" for id, "DBConn" for dbConn; what has no upper case gets an X in front.
func Exported(name string) string {
	if t := title(strings.TrimLeft(name, "_")); ast.IsExported(t) {
		return t
	}
	return "X" + name
}

// Unexported is name with its leading upper-case letters lowered as Go names do: "logger" for Logger, "uuid" for UUID,
// "httpClient" for HTTPClient.
func Unexported(name string) string {
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsUpper(r) {
			break
		}
		if i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			break
		}
		runes[i] = unicode.ToLower(r)
	}
	return string(runes)
}

// title is s with its first letter in upper case, and with it all of its first word where Go writes that in one case: "DB"
// for db.
func title(s string) string {
	first := s
	if end := strings.IndexFunc(s, func(r rune) bool { return unicode.IsUpper(r) || r == '_' }); end >= 0 {
		first = s[:end]
	}
	if slices.Contains(initialisms, first) {
		return strings.ToUpper(first) + s[len(first):]
	}
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + s[n:]
}
