package idemsql

import (
	"errors"
	"reflect"
)

// resultCode returns the result code, primary or extended, that err or an error that it wraps carries, or 0. The package
// imports no driver, so an error has to have a code in one of two shapes: the method Code() int (modernc.org/sqlite), or, in a
// struct that is named sqlite3.Error, the fields Code and ExtendedCode of a kind of integer (mattn/go-sqlite3 and what is made
// from it).
func resultCode(err error) int {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code()
	}
	return fieldCode(err)
}

// fieldCode looks for the second shape in the tree of err, in the order of errors.As.
func fieldCode(err error) int {
	for err != nil {
		if code := ownFieldCode(reflect.ValueOf(err)); code != 0 {
			return code
		}
		switch wrapper := err.(type) {
		case interface{ Unwrap() error }:
			err = wrapper.Unwrap()
		case interface{ Unwrap() []error }:
			for _, one := range wrapper.Unwrap() {
				if code := fieldCode(one); code != 0 {
					return code
				}
			}
			return 0
		default:
			return 0
		}
	}
	return 0
}

// ownFieldCode is the code of an error itself, which may be the struct or a pointer to it.
func ownFieldCode(v reflect.Value) int {
	if v.Kind() == reflect.Pointer {
		v = v.Elem() // of nil: not valid
	}
	if v.Kind() != reflect.Struct || v.Type().String() != "sqlite3.Error" {
		return 0
	}
	for _, name := range []string{"ExtendedCode", "Code"} {
		if field := v.FieldByName(name); field.IsValid() && field.CanInt() && field.Int() != 0 {
			return int(field.Int())
		}
	}
	return 0
}
