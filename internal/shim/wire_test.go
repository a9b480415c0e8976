package shim

import (
	"reflect"
	"testing"
	"unicode/utf8"
)

// FuzzSpec checks that any Spec is decoded as it was encoded.
func FuzzSpec(f *testing.F) {
	for _, s := range []string{"", "plain", "wörds", "\xff", "a\xfe/b\x00", "\U0010ff00\U0010ffff\U0010fdff", "\ufffd", "\xf4\x8f", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := Spec{
			Path: text, Dir: text, Args: []string{text, "a"}, Env: []string{"A=" + text}, ReadOnly: []string{text},
			Ops: []Op{{Kind: Bind, Src: text, Dst: "/" + text}}, Landlock: &Landlock{Read: []string{text}, Write: []string{text + text}},
		}
		data, err := want.Encode()
		if err != nil || !utf8.Valid(data) {
			t.Fatal(err)
		}
		if want.Path != text || want.Ops[0].Src != text || want.Landlock.Read[0] != text || want.Args[0] != text {
			t.Error("what was to be written was changed")
		}
		got, err := decode(data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v, %v", got, want, err)
		}
	})
}
