package cosign

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/verify"
)

// Judge implements verify.Method. Errors are *yamldoc.Error, with field and line.
func (m *Method) Judge(section *yaml.RNode, read verify.ReadFile) (verify.Judge, error) {
	if section == nil {
		return &remote{method: m}, nil
	}
	d := decoder{read: read, lines: map[string]int{}}
	s := yamldoc.NewValue(section, m.Name())
	demand := d.demand(s)
	if err := s.Err(); err != nil {
		return nil, err
	}
	j, err := m.Build(demand)
	var e *DemandError
	if errors.As(err, &e) {
		at := &yamldoc.Error{Field: strings.TrimSuffix(m.Name()+"."+e.Field, "."), Line: d.lines[e.Field], Msg: e.Text(e.Waiver + ": true"), Err: e.Err}
		if at.Line == 0 {
			at.Line = s.Line()
		}
		return nil, at
	}
	return j, err
}

// decoder reads a section, and records the lines of its fields for errors that are found later.
type decoder struct {
	read  verify.ReadFile
	lines map[string]int
}

func (d decoder) demand(s yamldoc.Value) Demand {
	s.Exactly("threshold", "keys", "identities", "trustedRoot", "annotations", "formats",
		"notBefore", "insecureIgnoreTlog", "insecureIgnoreSCT", "insecureIgnoreTimestamp")
	out := Demand{
		Annotations:             annotations(d.at(s, "annotations")),
		InsecureIgnoreTlog:      s.Get("insecureIgnoreTlog").Bool(),
		InsecureIgnoreSCT:       s.Get("insecureIgnoreSCT").Bool(),
		InsecureIgnoreTimestamp: s.Get("insecureIgnoreTimestamp").Bool(),
	}
	if t := d.at(s, "threshold"); t.Present() {
		out.Threshold = number(t)
	}
	out.NotBefore, _ = d.at(s, "notBefore").Time()
	for _, k := range d.each(s, "keys") {
		k.Exactly("name", "path", "data")
		if err := KeyURL(k.Get("path").Text()); err != nil {
			k.Get("path").Fail("%s", err)
			continue
		}
		path, data := d.file(k, "public key")
		out.Keys = append(out.Keys, Key{Name: k.Get("name").TextOnly(), Path: path, PEM: data})
	}
	for _, i := range d.each(s, "identities") {
		i.Exactly("subject", "subjectRegExp", "issuer", "issuerRegExp", "extensions")
		out.Identities = append(out.Identities, Identity{
			Subject: i.Get("subject").TextOnly(), SubjectRegExp: i.Get("subjectRegExp").TextOnly(),
			Issuer: i.Get("issuer").TextOnly(), IssuerRegExp: i.Get("issuerRegExp").TextOnly(),
			Extensions: extensions(i.Get("extensions")),
		})
	}
	if r := d.at(s, "trustedRoot"); r.Present() {
		r.Exactly("path", "data")
		_, out.TrustedRoot = d.file(r, "trusted root")
	}
	for _, f := range d.each(s, "formats") {
		out.Forms = append(out.Forms, Form(f.TextOnly()))
	}
	return out
}

func (d decoder) at(s yamldoc.Value, name string) yamldoc.Value {
	f := s.Get(name)
	d.lines[name] = f.Line()
	return f
}

func (d decoder) each(s yamldoc.Value, name string) []yamldoc.Value {
	all := d.at(s, name).Each()
	for i, e := range all {
		d.lines[indexed(name, i)] = e.Line()
	}
	return all
}

// file reads content given by path or in place.
func (d decoder) file(s yamldoc.Value, what string) (string, []byte) {
	path, data := s.Get("path").TextOnly(), s.Get("data").TextOnly()
	switch {
	case (path == "") == (data == ""):
		s.Fail("it needs either a path or data: the %s", what)
		return "", nil
	case data != "":
		return "", []byte(data)
	case d.read == nil:
		s.Fail("there are no files here, give the %s as data", what)
		return "", nil
	}
	b, err := d.read(path)
	if err == nil && len(b) == 0 {
		err = errors.New(path + " is empty")
	}
	if err != nil {
		s.Get("path").Fail("%w", err)
	}
	return path, b
}

// extensions reads the requirements on a certificate's extensions, nil for none.
func extensions(s yamldoc.Value) map[string]string {
	if !s.Present() {
		return nil
	}
	s.Exactly(extensionFields()...)
	out := map[string]string{}
	for _, name := range extensionFields() {
		if v := s.Get(name); v.Present() {
			out[name] = v.TextOnly()
		}
	}
	if len(out) == 0 {
		s.Fail("it has no fields")
	}
	return out
}

func annotations(s yamldoc.Value) map[string]string {
	if !s.Map() {
		return nil
	}
	out := map[string]string{}
	for key, v := range s.Fields() {
		if _, twice := out[key.Value]; twice {
			v.Fail("it is given twice")
		}
		if !v.Present() {
			s.Fail("%s has no value", key.Value)
		}
		out[key.Value] = v.TextOnly()
	}
	return out
}

// number reads an integer of at least 1.
func number(s yamldoc.Value) int {
	n, err := strconv.Atoi(s.Text())
	if err != nil || n < 1 || s.Node().ShortTag() != yaml.NodeTagInt {
		s.Fail("it has to be a number, 1 or more")
		return 0
	}
	return n
}

func indexed(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }
