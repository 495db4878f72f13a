// Package slog is named like another.
package slog

type Order struct{ ID string }
