package shim

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Encode encodes a Spec for the confining stage. Paths, arguments and values of variables are
// bytes, but strings in JSON are UTF-8. Bytes of invalid UTF-8 are written as the last 256 code
// points, and so are these code points themselves.
func (s Spec) Encode() ([]byte, error) {
	s.texts(func(t *string) { *t = toUTF8(*t) })
	return json.Marshal(s)
}

// decode decodes the output of Encode.
func decode(data []byte) (s Spec, err error) {
	err = json.Unmarshal(data, &s)
	s.texts(func(t *string) { *t = fromUTF8(*t) })
	return s, err
}

// texts calls f for every string that may hold any bytes.
func (s *Spec) texts(f func(*string)) {
	f(&s.Path)
	f(&s.Dir)
	lists := []*[]string{&s.Args, &s.Env, &s.ReadOnly}
	if s.Landlock != nil {
		l := *s.Landlock
		s.Landlock = &l
		lists = append(lists, &l.Read, &l.Write)
	}
	for _, l := range lists {
		if *l == nil {
			continue
		}
		own := append([]string{}, *l...) // the caller's list must not change
		for i := range own {
			f(&own[i])
		}
		*l = own
	}
	if s.Ops == nil {
		return
	}
	s.Ops = append([]Op{}, s.Ops...)
	for i := range s.Ops {
		f(&s.Ops[i].Src)
		f(&s.Ops[i].Dst)
	}
}

// firstByte is the code point for byte 0. byteMark is the first byte in the UTF-8 of all 256.
const (
	firstByte = utf8.MaxRune - 0xff
	byteMark  = "\xf4\x8f"
)

func toUTF8(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, byteMark) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		if r < firstByte && (r != utf8.RuneError || size > 1) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(s[i : i+size]) {
			b.WriteRune(firstByte + rune(c))
		}
	}
	return b.String()
}

func fromUTF8(s string) string {
	if !strings.Contains(s, byteMark) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r < firstByte {
			b.WriteRune(r)
			continue
		}
		b.WriteByte(byte(r - firstByte))
	}
	return b.String()
}
