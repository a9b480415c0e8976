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

// On applies a middleware to requests whose path contains part, and leaves the others
// alone.
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

// Fail answers with a status and, where it is not empty, a Retry-After.
func Fail(status int, retryAfter string) Middleware {
	return answer(func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
	})
}

// Reset breaks the connection off before any answer.
func Reset() Middleware {
	return answer(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, not an orderly end
		}
		_ = conn.Close()
	})
}

// Truncate announces the whole body and ends after half of it.
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

// Shorten sends half of the body as if it were all.
func Shorten() Middleware {
	return rewrite(func(w http.ResponseWriter, a *httptest.ResponseRecorder) {
		half := a.Body.Bytes()[:a.Body.Len()/2]
		w.Header().Set("Content-Length", strconv.Itoa(len(half)))
		w.WriteHeader(a.Code)
		_, _ = w.Write(half)
	})
}

// Tamper changes one letter of the body and leaves size and headers alone.
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

// Announce claims a body of size bytes, and sends that many or until nobody listens.
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

// Endless sends a body without a size that never ends, and claims claimed bytes when it
// is asked with HEAD.
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

// Redirect sends to the same path below another place.
func Redirect(to func() string) Middleware {
	return answer(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to()+r.URL.Path, http.StatusTemporaryRedirect)
	})
}

// Hang answers nothing until the client gives up, and tells who waits.
func Hang(arrived chan<- struct{}) Middleware {
	return answer(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case arrived <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	})
}

// Login asks for User and Password.
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

// rewrite lets the registry answer a GET, copies its headers, and hands the answer to f.
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

// Without leaves a header out of every answer.
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
