//go:build !failpoint

package output

func failpoint(string) {}
