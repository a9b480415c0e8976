package registry_test

import (
	"errors"
	"testing"

	"github.com/krmcat/krmcat/registry/reference"
)

const someDigest = "sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func mustParse(t testing.TB, s string) reference.Locator {
	t.Helper()
	l, err := reference.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}
