package regtest

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
)

// On applies a middleware to requests whose path contains part, and does not change the others.
func On(part string, m Middleware) Middleware {
	return func(next http.Handler) http.Handler {
		changed := m(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, part) {
				changed.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// First applies a middleware to the first n requests.
func First(n int32, m Middleware) Middleware {
	return func(next http.Handler) http.Handler {
		var seen atomic.Int32
		changed := m(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if seen.Add(1) <= n {
				changed.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// Fail answers with a status, and with a Retry-After unless that is empty.
func Fail(status int, retryAfter string) Middleware {
	return answer(func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
	})
}

// Reset closes the connection before any answer.
func Reset() Middleware {
	return answer(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset (RST), not an orderly close (FIN)
		}
		_ = conn.Close()
	})
}

// Truncate announces the whole body, but closes the connection after half of it.
func Truncate() Middleware {
	return rewrite(func(w http.ResponseWriter, a *httptest.ResponseRecorder) {
		w.Header().Set("Content-Length", strconv.Itoa(a.Body.Len()))
		w.WriteHeader(a.Code)
		_, _ = w.Write(a.Body.Bytes()[:a.Body.Len()/2])
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	})
}

// Shorten sends half of the body as if it were the whole.
func Shorten() Middleware {
	return rewrite(func(w http.ResponseWriter, a *httptest.ResponseRecorder) {
		half := a.Body.Bytes()[:a.Body.Len()/2]
		w.Header().Set("Content-Length", strconv.Itoa(len(half)))
		w.WriteHeader(a.Code)
		_, _ = w.Write(half)
	})
}

// Tamper changes one letter of the body, but neither the size nor the headers.
func Tamper() Middleware {
	return rewrite(func(w http.ResponseWriter, a *httptest.ResponseRecorder) {
		body := bytes.Clone(a.Body.Bytes())
		if i := bytes.IndexByte(body, 'a'); i >= 0 {
			body[i] = 'b'
		} else if len(body) > 0 {
			body[0] ^= 1
		}
		w.WriteHeader(a.Code)
		_, _ = w.Write(body)
	})
}

// Announce claims a body of size bytes, and sends that many, unless the client closes the
// connection.
func Announce(size int64) Middleware {
	return answer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		if r.Method == http.MethodHead {
			return
		}
		chunk := bytes.Repeat([]byte(" "), 32<<10)
		for left := size; left > 0; left -= int64(len(chunk)) {
			if _, err := w.Write(chunk[:min(left, int64(len(chunk)))]); err != nil {
				return
			}
		}
	})
}

// Endless sends a body without a size that never ends. It claims claimed bytes in the answer to
// HEAD.
func Endless(claimed int64) Middleware {
	return answer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", strconv.FormatInt(claimed, 10))
			w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
			return
		}
		chunk := bytes.Repeat([]byte(" "), 32<<10)
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
}

// Redirect redirects to the same path below another URL.
func Redirect(to func() string) Middleware {
	return answer(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to()+r.URL.Path, http.StatusTemporaryRedirect)
	})
}

// Hang answers nothing until the client gives up, and reports each request on arrived.
func Hang(arrived chan<- struct{}) Middleware {
	return answer(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case arrived <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	})
}

// Login requires User and Password.
func Login() Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, ok := r.BasicAuth()
			if !ok || user != User || password != Password {
				w.Header().Set("Www-Authenticate", `Basic realm="tests"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func answer(h http.HandlerFunc) Middleware {
	return func(http.Handler) http.Handler { return h }
}

// rewrite has the registry answer a GET, copies the headers, and passes the answer to f.
func rewrite(f func(http.ResponseWriter, *httptest.ResponseRecorder)) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				next.ServeHTTP(w, r)
				return
			}
			a := httptest.NewRecorder()
			next.ServeHTTP(a, r)
			for k, v := range a.Header() {
				w.Header()[k] = v
			}
			f(w, a)
		})
	}
}

// Without removes a header from every answer.
func Without(header string) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a := httptest.NewRecorder()
			next.ServeHTTP(a, r)
			a.Header().Del(header)
			for k, v := range a.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(a.Code)
			_, _ = w.Write(a.Body.Bytes())
		})
	}
}
