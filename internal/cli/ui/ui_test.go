package ui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/krmcat/krmcat/internal/cli/ui"
)

type fruit struct {
	Name  string   `json:"name"`
	Kinds []string `json:"kinds,omitempty"`
}

func (f fruit) Table() ui.Table {
	t := ui.Table{
		Facts:  [][2]string{{"Name", f.Name}, {"Empty", ""}, {}, {"Long name", "one\ntwo"}},
		Header: []string{"KIND", "COLOUR", "NOTE"},
		Notes:  []string{"That is all. "},
	}
	for _, k := range f.Kinds {
		t.Rows = append(t.Rows, []string{k, "rød", ""})
	}
	return t
}

func TestPrint(t *testing.T) {
	t.Parallel()
	apple := fruit{"apple\x1b[1m", []string{"Gala", "Boskoop\nred"}}
	for format, want := range map[string]string{
		"table": `Name:       apple\u001b[1m

Long name:  one
            two

KIND         COLOUR  NOTE
Gala         rød
Boskoop red  rød

That is all.
`,
		"json": "{\n  \"name\": \"apple\\u001b[1m\",\n  \"kinds\": [\n    \"Gala\",\n    \"Boskoop\\nred\"\n  ]\n}\n",
		"yaml": "kinds:\n- Gala\n- |-\n  Boskoop\n  red\nname: \"apple\\e[1m\"\n",
		"go-template={{range .kinds}}{{.}};{{end}}": "Gala;Boskoop\nred;",
	} {
		var b bytes.Buffer
		if err := ui.Print(&b, format, apple); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s: -want +got\n%s", format, diff)
		}
	}
}

func TestBadFormats(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"", "xml", "go-template={{", "go-template"} {
		var bad *ui.FormatError
		if err := ui.Data().Check(format); !errors.As(err, &bad) {
			t.Errorf("%q: %v", format, err)
		}
	}
	var b bytes.Buffer
	err := ui.Print(&b, "go-template=begin {{.nothing}}", fruit{Name: "pear"})
	var bad *ui.FormatError
	if !errors.As(err, &bad) || b.Len() > 0 {
		t.Errorf("error %v, output %q", err, b.String())
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode ui.Mode
		want string
	}{
		"pipe":     {want: "Warning: mind the gap\n"},
		"terminal": {mode: ui.Mode{Terminal: true}, want: "\r\x1b[Kone\r\x1b[KWarning: mind the gap\n\r\x1b[Ktwo\r\x1b[K"},
		"verbose":  {mode: ui.Mode{Verbose: true}, want: "one\nWarning: mind the gap\ntwo\n"},
		"quiet":    {mode: ui.Mode{Terminal: true, Quiet: true}, want: "Warning: mind the gap\n"},
		"both":     {mode: ui.Mode{Terminal: true, Verbose: true}, want: "one\nWarning: mind the gap\ntwo\n"},
	} {
		var b bytes.Buffer
		p := ui.NewProgress(&b, c.mode)
		p.Say("one")
		p.Warn("mind the gap")
		p.Say("two")
		p.Done()
		p.Done()
		if diff := cmp.Diff(c.want, b.String()); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	var b bytes.Buffer
	ui.NewProgress(&b, ui.Mode{Terminal: true}).Say(strings.Repeat("ø", 500))
	if n := strings.Count(b.String(), "ø"); n != 77 {
		t.Errorf("%d columns", n)
	}
}

// transfer is a transfer that takes this number of seconds.
type transfer struct{ since, until time.Time }

func (t transfer) Moved() int64 { return int64(time.Since(t.since) / time.Second) }
func (t transfer) Done() bool   { return !time.Now().Before(t.until) }

// TestTrack checks that a transfer is shown after a second, on terminals only, and one at a time.
func TestTrack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode    ui.Mode
		seconds []float64
		want    []string
	}{
		"short":   {mode: ui.Mode{Terminal: true}, seconds: []float64{0.9}, want: []string{""}},
		"long":    {mode: ui.Mode{Terminal: true}, seconds: []float64{2.9}, want: []string{"0: 1", "0: 2", ""}},
		"two":     {mode: ui.Mode{Terminal: true}, seconds: []float64{1.9, 2.9}, want: []string{"0: 1", ""}},
		"pipe":    {seconds: []float64{9}, want: []string{""}},
		"verbose": {mode: ui.Mode{Terminal: true, Verbose: true}, seconds: []float64{9}, want: []string{""}},
		"quiet":   {mode: ui.Mode{Terminal: true, Quiet: true}, seconds: []float64{9}, want: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var b bytes.Buffer
				p := ui.NewProgress(&b, c.mode)
				for i, seconds := range c.seconds {
					now := time.Now()
					one := transfer{now, now.Add(time.Duration(seconds * float64(time.Second)))}
					p.Track(one, func(moved int64) string { return fmt.Sprintf("%d: %d", i, moved) })
					time.Sleep(time.Second / 2)
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				lines := slices.Compact(strings.Split(b.String(), "\r\x1b[K"))
				if b.Len() > 0 {
					lines = lines[1:] // before the first
				}
				if diff := cmp.Diff(c.want, lines); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestTrackAfterDone: what is left of one transfer does not end the line of the next.
func TestTrackAfterDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := ui.NewProgress(&b, ui.Mode{Terminal: true})
		now := time.Now()
		p.Track(transfer{now, now.Add(1300 * time.Millisecond)}, func(int64) string { return "one" })
		p.Track(transfer{now, now.Add(1900 * time.Millisecond)}, func(int64) string { return "none" })
		time.Sleep(250 * time.Millisecond)
		p.Track(transfer{now, now.Add(1900 * time.Millisecond)}, func(int64) string { return "two" })
		time.Sleep(999 * time.Millisecond) // "one" is drawn again at 1.4 s, and is done then
		p.Done()
		b.Reset()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := strings.Count(b.String(), "two"); n != 4 {
			t.Errorf("it was drawn %d times, not at 1.25, 1.45, 1.65 and 1.85 s: %q", n, b.String())
		}
	})
}

// TestYAMLIsNotWrapped checks that a long text is one line of YAML, and that lines that begin with
// a tab can be read back.
func TestYAMLIsNotWrapped(t *testing.T) {
	t.Parallel()
	long := "it needs " + strings.Repeat("words, and more ", 20) + "at the end"
	written := fruit{Name: long, Kinds: []string{"\ta\n\tb", "a\n\tb: " + long, "yes", "\\t <a&b>"}}
	var b bytes.Buffer
	if err := ui.Print(&b, "yaml", written); err != nil || !strings.Contains(b.String(), "name: "+long+"\n") || !strings.Contains(b.String(), " <a&b>") {
		t.Errorf("%v, printed:\n%s", err, b.String())
	}
	var read fruit
	if err := yaml.Unmarshal(b.Bytes(), &read); err != nil || !reflect.DeepEqual(read, written) {
		t.Errorf("it reads back as %q, %v", read, err)
	}
}

// TestJSONIsSafe checks that control characters are escaped in JSON, and decoded unchanged.
func TestJSONIsSafe(t *testing.T) {
	t.Parallel()
	odd := "a\x1b\u009b31m\u0085\u202e\u2028\u2066\ufeff\U000e0001\u007fé\U0001f600"
	var b bytes.Buffer
	written := map[string]fruit{odd + "\uffff": {Name: odd, Kinds: []string{"a\n\u202e\\", "\"\u202e: text", "text0.", "text_"}}}
	if err := ui.Print(&b, "yaml", written); err != nil || ui.CleanText(b.String()) != b.String() {
		t.Errorf("as YAML: %v, %q", err, b.String())
	}
	var read map[string]fruit
	if err := yaml.Unmarshal(b.Bytes(), &read); err != nil || !reflect.DeepEqual(read, written) {
		t.Errorf("as YAML it reads back as %q, %v", read, err)
	}
	b.Reset()
	if err := ui.Print(&b, "json", fruit{Name: odd, Kinds: []string{"\x9b"}}); err != nil {
		t.Fatal(err)
	}
	if ui.CleanText(b.String()) != b.String() {
		t.Errorf("it prints %q", b.String())
	}
	var back fruit
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Name != odd || back.Kinds[0] != "\uFFFD" {
		t.Errorf("it reads back as %q, %v", back, err)
	}
}

// TestYAMLLines checks texts that JSON always escapes, and texts that a type gives with escapes.
func TestYAMLLines(t *testing.T) {
	t.Parallel()
	for v, want := range map[any]string{
		"x\u2028y":                              `"x\u2028y"`,
		"x\u2029y":                              `"x\u2029y"`,
		`x\u2028y`:                              `x\u2028y`,
		jsonText(`"\ud83d\ude00\t"`):            "\"\U0001f600\\t\"",
		jsonText(`["\u0074ext0.", "a\u202eb"]`): "- text0.\n- \"a\\u202eb\"",
		jsonText(`"\u003c\t"`):                  `"<\t"`,
	} {
		got, err := ui.YAML(v)
		if err != nil || strings.TrimSuffix(string(got), "\n") != want {
			t.Errorf("%q: got %q, %v, want %q", v, got, err, want)
		}
	}
}

// jsonText is JSON with the escapes of its author.
type jsonText string

func (j jsonText) MarshalJSON() ([]byte, error) { return []byte(j), nil }

// TestCleanJSON checks that errors as JSON are made safe, and decoded unchanged.
func TestCleanJSON(t *testing.T) {
	t.Parallel()
	const odd = "a\u0085\u202e\u007f\U000e0041"
	data, err := json.Marshal(odd)
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal([]byte(ui.CleanText(string(data))), &back); err != nil || back != odd {
		t.Errorf("it reads back as %q, %v", back, err)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("plain\ttext\n")
	f.Add("\x1b]0;title\x07\x9b2J\u202e\xff\uFFFD\r")
	f.Fuzz(func(t *testing.T, s string) {
		clean := ui.CleanText(s)
		for _, r := range clean {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
				t.Errorf("%q came through in %q", r, clean)
			}
		}
		if again := ui.CleanText(clean); again != clean {
			t.Errorf("cleaned twice: %q, then %q", clean, again)
		}
	})
}
