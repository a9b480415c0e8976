package registry

import (
	"strings"
	"testing"
)

func TestNextLink(t *testing.T) {
	t.Parallel()
	const bad = "?"
	for header, want := range map[string]string{
		"":                                         "",
		`</v2/x?n=2>; rel="next"`:                  "/v2/x?n=2",
		`</v2/x>;rel=next`:                         "/v2/x",
		`</v2/x> ; REL = "prev NEXT" ; title=x`:    "/v2/x",
		`</v2/x>; rel="prev"`:                      "",
		`</v2/x>; rel=describedby`:                 "",
		`</v2/x>; rel="next-archive"`:              "",
		`</v2/x>; rel=prev; rel=next`:              "", // the first one counts
		`</a>; rel=prev, </b>; rel=next`:           "/b",
		`</a>; rel=prev` + "\n" + `</b>; rel=next`: "/b",
		`</a,b>; rel="next"`:                       "/a,b",
		`</a>; title="x, </evil>; rel=next"; rel=prev, </b>; rel="next"`: "/b",
		`</a>; title="\"; rel=next"; rel=prev`:                           "",
		`</a>; crossorigin; rel=next`:                                    "/a",
		`</a>`:                                                           bad,
		`</a>; title=x`:                                                  bad,
		`there is more`:                                                  bad,
		`>; rel=next`:                                                    bad, // and nothing that opens it
		`>`:                                                              bad,
		`;`:                                                              bad,
		`</a>; rel=prev, >; rel=next`:                                    bad,
		`</a>; rel=prev; =; rel=next, >`:                                 bad,
		`<>; rel=next`:                                                   bad, // the same page again
		`</a; rel=next`:                                                  bad,
		`</a> rel=next`:                                                  bad,
		`</a>; rel="next`:                                                bad,
		`</a>; rel="next\`:                                               bad,
		`</a>; rel=prev, x`:                                              bad,
	} {
		got, err := nextLink(strings.Split(header, "\n"))
		if err != nil {
			got = bad
		}
		if got != want {
			t.Errorf("%s: got %q, %v, want %q", header, got, err, want)
		}
	}
}

func FuzzNextLink(f *testing.F) {
	for _, s := range []string{`</v2/x?n=2>; rel="next"`, `</a>; title="\"; rel=next"; rel=prev, <b>`, ``, `<;,="\`, `>; rel=next`, `</a>; rel=prev, >`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if next, err := nextLink([]string{s}); next != "" && (err != nil || !strings.Contains(s, "<"+next+">")) {
			t.Errorf("%q leads to %q, %v", s, next, err)
		}
	})
}
