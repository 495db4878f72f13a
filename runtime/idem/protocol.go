package idem

// Protocol1_else_go_generate_or_go_get_the_runtime is named by generated code. Where code and runtime are too far apart
// the name is missing, and the compiler's message says what to do: run go generate with a newer idemgen, or go get a
// newer runtime.
//
//nolint:revive,staticcheck // The name is a message.
const Protocol1_else_go_generate_or_go_get_the_runtime = 1
