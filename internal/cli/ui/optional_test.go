package ui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/krmcat/krmcat/internal/cli/ui"
)

type stone struct {
	Size  int  `json:"size,omitempty"`
	Round bool `json:"round,omitempty"`
}

type basket struct {
	*fruit
	Stones []stone           `json:"stones,omitempty"`
	First  *stone            `json:"first,omitempty"`
	Notes  map[string]string `json:"notes,omitempty"`
	Any    any               `json:"any,omitempty"`
	Own    own               `json:"own"`
	Plain  string
	Hidden string `json:"-"`
}

// own has an encoding that is not that of its fields.
type own struct {
	Inside string `json:"inside,omitempty"`
}

func (own) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]int{"outside": 1}) }

// TestTemplatesAskForEveryField checks that fields that the JSON omits are empty in templates, and
// that an unknown name is an error.
func TestTemplatesAskForEveryField(t *testing.T) {
	t.Parallel()
	v := basket{fruit: &fruit{Name: "pear"}, Stones: []stone{{}, {Size: 2, Round: true}}, Any: []any{stone{}}}
	for text, want := range map[string]string{
		"{{if .kinds}}some{{else}}none{{end}}":                      "none",
		"{{with .kinds}}some{{else}}none{{end}}{{len .kinds}}":      "none0",
		"{{range .kinds}}{{.}}{{end}}|{{range .notes}}{{.}}{{end}}": "|",
		"{{range .stones}}{{.size}}{{if .round}}!{{end}};{{end}}":   "0;2!;",
		"{{with .first}}{{.size}}{{else}}no{{end}}":                 "no",
		"{{range .any}}{{.size}}{{end}}":                            "0",
		`{{.Plain}}{{eq .Plain ""}}`:                                "true",
		`{{with index .notes "x"}}{{.}}{{else}}no{{end}}`:           "no",
		"{{.own.outside}}":                                          "1",
		"{{if .kind}}some{{end}}":                                   "error",
		"{{.own.inside}}":                                           "error",
		"{{.Hidden}}":                                               "error",
		"{{range .stones}}{{.weight}}{{end}}":                       "error",
		"{{.fruit}}":                                                "error",
	} {
		var b bytes.Buffer
		err := ui.Print(&b, "go-template="+text, v)
		if bad := new(ui.FormatError); errors.As(err, &bad) && b.Len() == 0 {
			b.WriteString("error")
		} else if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if b.String() != want {
			t.Errorf("%s: %q, want %q", text, b.String(), want)
		}
	}
	var b bytes.Buffer
	if err := ui.Print(&b, "go-template={{if .kinds}}{{end}}{{.name}}", &basket{fruit: &fruit{Name: "fig"}}); err != nil || b.String() != "fig" {
		t.Errorf("a pointer: %v, %q", err, b.String())
	}
	if err := ui.Print(&b, "go-template={{.name}}", basket{}); err == nil {
		t.Error("what is of an embedded struct that is not there was found")
	}
}
