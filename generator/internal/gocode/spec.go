package gocode

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// spec declares the variable that tells the runtime everything about a handler. The line above it records the key's
// shape, so that a review and a later run can see it change.
func (f *file) spec(g *model.Group, h *model.Handler) error {
	fields := []jen.Code{
		field("Name", jen.Lit(h.Name)),
		field("Window", f.window(h)),
	}
	if h.FailFast {
		fields = append(fields, field("InFlight", f.idem("Fail")))
	}
	if h.Lease > 0 {
		fields = append(fields, field("Lease", f.duration(h.Lease)))
	}
	if h.Park {
		fields = append(fields, field("Expired", f.idem("Park")))
	}
	key, err := f.keyFunc(h)
	if err != nil {
		return err
	}
	fields = append(fields, field("Key", key))
	if len(h.Fingerprint) > 0 {
		fingerprint, err := f.fingerprintFunc(h)
		if err != nil {
			return err
		}
		fields = append(fields, field("Fingerprint", fingerprint))
	}
	if h.Message {
		fields = append(fields, field("Codec", f.messageCodec(h)))
	}
	if h.Attempt != nil {
		fields = append(fields, field("Attempt", f.attemptFunc(h)))
	}
	shape := fmt.Sprintf("// key shape: %s %d %s", word(h.Name), h.KeyVersion, h.Shape)
	spec := names.Spec(typeName(g), h.Method)
	doc := fmt.Sprintf("%s tells the runtime about %s. The last line records its key, name, version and parts, so that a change is noticed.",
		spec, h.Method)
	f.add(comment(doc).Line().Comment("//").Line().Comment(shape).Line(),
		jen.Var().Id(spec).Op("=").Add(f.idem("Spec")).Types(f.eventType(h)).
			Add(list("{", "}", false, fields...)))
	return nil
}

// messageCodec is protobuf's codec for R. It is deterministic for those who compare rows; nothing of ours does.
func (f *file) messageCodec(h *model.Handler) *jen.Statement {
	message := types.Unalias(h.Result).(*types.Pointer).Elem()
	marshal := f.name(protoPath, "proto", "MarshalOptions").Values(jen.Id("Deterministic").Op(":").True()).Dot("Marshal")
	return f.idem("MessageCodec").Types(f.typ(message)).Call(marshal, f.name(protoPath, "proto", "Unmarshal"))
}

func field(name string, value jen.Code) *jen.Statement { return jen.Id(name).Op(":").Add(value) }

// word is a name as one word of a comment: quoted where it has anything in it that is not printed or is a space.
func word(name string) string {
	if strings.ContainsRune(name, ' ') || strconv.Quote(name) != `"`+name+`"` {
		return strconv.Quote(name)
	}
	return name
}

func (f *file) window(h *model.Handler) *jen.Statement {
	if h.Forever {
		return f.idem("Forever")
	}
	return f.duration(h.Window)
}

// duration is a duration in the largest unit that it is a multiple of; several days are so many times 24 hours.
func (f *file) duration(d time.Duration) *jen.Statement {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{
		{"Hour", time.Hour}, {"Minute", time.Minute}, {"Second", time.Second},
		{"Millisecond", time.Millisecond}, {"Microsecond", time.Microsecond},
	} {
		n := d / unit.size
		if d%unit.size != 0 {
			continue
		}
		value := f.name("time", "time", unit.name)
		switch days := n / 24; {
		case n == 1:
			return value
		case unit.size == time.Hour && n%24 == 0 && days > 1:
			return jen.Id(strconv.FormatInt(int64(days), 10)).Op("*").Lit(24).Op("*").Add(value)
		}
		return jen.Id(strconv.FormatInt(int64(n), 10)).Op("*").Add(value)
	}
	return jen.Id(strconv.FormatInt(int64(d), 10)).Op("*").Add(f.name("time", "time", "Nanosecond"))
}

// event is the parameter of the functions in a specification.
func (f *file) event(h *model.Handler) (name string, param *jen.Statement) {
	name = f.local.args
	if h.Payload >= 0 {
		name = f.local.event
	}
	return name, jen.Id(name).Add(f.eventType(h))
}

func (f *file) keyFunc(h *model.Handler) (*jen.Statement, error) {
	k := f.local.key
	return f.builderFunc(h, h.Key, k, "KeyBuilder",
		jen.Params(jen.String(), jen.Error()), jen.Return(jen.Id(k).Dot("Key").Call()))
}

func (f *file) fingerprintFunc(h *model.Handler) (*jen.Statement, error) {
	fp := f.local.fingerprint
	return f.builderFunc(h, h.Fingerprint, fp, "FingerprintBuilder",
		jen.String(), jen.Return(jen.Id(fp).Dot("Sum").Call()))
}

// builderFunc is a function that gives every part to a builder of the runtime.
func (f *file) builderFunc(h *model.Handler, parts []model.Part, builder, builderType string, result, last jen.Code) (*jen.Statement, error) {
	name, param := f.event(h)
	body := []jen.Code{jen.Var().Id(builder).Add(f.idem(builderType))}
	code, err := f.parts(h, parts, name, builder, builderType == "KeyBuilder")
	if err != nil {
		return nil, err
	}
	body = append(body, code...)
	return jen.Func().Params(param).Add(result).Block(append(body, last)...), nil
}

// attemptFunc is the function that reads the attempt: 0 where there is none.
func (f *file) attemptFunc(h *model.Handler) *jen.Statement {
	name, param := f.event(h)
	from := root(h, name, *h.Attempt)
	value := jen.Return(convert(h.Attempt.Type, "int", pointee(*h.Attempt, path(from, h.Attempt.Steps))))
	fn := jen.Func().Params(param).Int()
	if len(h.Attempt.Guards) == 0 {
		return fn.Custom(jen.Options{Open: "{", Close: "}"}, value)
	}
	return fn.Block(jen.If(jen.Id(present(from, *h.Attempt))).Block(value), jen.Return(jen.Lit(0)))
}
