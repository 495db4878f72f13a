// Package model is the resolved input of a run as plain data: what analyze found out and the emitters render.
//
// Everything that an emitter needs is here, so that sqlcode and gocode are pure functions of it. Types stay
// go/types values, because only they keep aliases, instantiations and origins without loss. Nothing here reads a file,
// and nothing here decides what is right: analyze has refused what must be refused.
package model
