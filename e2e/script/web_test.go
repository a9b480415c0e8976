package script

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// requests are the requests that a server of a script received.
type requests struct {
	mu   sync.Mutex
	seen []string
}

// note records each request, and passes it on.
func (r *requests) note(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.seen = append(r.seen, req.Method+" "+req.URL.Path)
		r.mu.Unlock()
		next.ServeHTTP(w, req)
	})
}

// take returns the requests since its last call.
func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

// webs is the key of the requests of a script's servers, by variable.
type webs struct{}

// web VAR DIR serves a directory over HTTP, and puts its URL into a variable, and its host into
// VAR_HOST. `asked` checks the requests.
func web(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: web VAR DIR")
	}
	seen := &requests{}
	ts.Value(webs{}).(map[string]*requests)[args[0]] = seen
	server := httptest.NewServer(seen.note(http.FileServer(http.Dir(ts.MkAbs(args[1])))))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
	ts.Setenv(args[0]+"_HOST", strings.TrimPrefix(server.URL, "http://"))
}

// asked VAR [PATH] requires that a server received a request for a path since the script last
// checked. `! asked VAR` requires that it received none. With -PART in place of a path, no request
// may contain PART.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || neg && len(args) != 1 {
		ts.Fatalf("usage: [!] asked VAR [PATH]")
	}
	seen := ts.Value(webs{}).(map[string]*requests)[args[0]].take()
	switch {
	case neg && len(seen) > 0:
		ts.Fatalf("%s received requests: %s", args[0], strings.Join(seen, ", "))
	case !neg && len(seen) == 0:
		ts.Fatalf("%s received no request", args[0])
	}
	for _, path := range args[1:] {
		if part, not := strings.CutPrefix(path, "-"); not {
			if i := slices.IndexFunc(seen, func(r string) bool { return strings.Contains(r, part) }); i >= 0 {
				ts.Fatalf("%s received requests: %s", args[0], seen[i])
			}
			continue
		}
		if !slices.ContainsFunc(seen, func(r string) bool { return strings.HasSuffix(r, " "+path) }) {
			ts.Fatalf("%s received no request for %s: %s", args[0], path, strings.Join(seen, ", "))
		}
	}
}
