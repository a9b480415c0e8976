package regtest

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/krmcat/krmcat/internal/livetest"
)

// The only login of a registry with the option Logins.
const (
	User     = "tester"
	Password = "open-sesame"
)

// htpasswd has User with the bcrypt hash of Password.
const htpasswd = "tester:$2a$04$FzeWmt97lbRrcxzmskLmaeXcXi2oHvyEAhkHCWujmjQzPPDRD90Rm\n"

// startTimeout limits the time until a registry listens.
const startTimeout = time.Minute

// Options choose a variant of the registry. The zero value has neither logins nor TLS.
type Options struct {
	Logins bool // require User and Password
	TLS    bool // use a certificate of an authority made for this test
}

// Registry is a running registry. It ends with its test.
type Registry struct {
	Host   string // 127.0.0.1:port
	CAFile string // certificate of the authority in PEM, "" without TLS
	Stop   func() // ends the registry before its test ends
}

// Start runs a registry on a free port of loopback: the distribution registry if the real programs
// run (livetest.On), else a Fake that refuses what distribution refuses. The test ends if the
// registry does not start.
func Start(t testing.TB, o Options) *Registry {
	t.Helper()
	dir := t.TempDir()
	r := &Registry{}
	var certFile, keyFile string
	if o.TLS {
		r.CAFile, certFile, keyFile = writeCertificates(t, dir)
	}
	if livetest.On() {
		r.runReal(t, dir, config(t, dir, o, certFile, keyFile))
	} else {
		r.runFake(t, o, certFile, keyFile)
	}
	return r
}

// runFake serves a registry in the process of the test.
func (r *Registry) runFake(t testing.TB, o Options, certFile, keyFile string) {
	t.Helper()
	var how []Middleware
	if o.Logins {
		how = append(how, Login())
	}
	f, h := newFake(how)
	f.strict = true
	s := httptest.NewUnstartedServer(h)
	if o.TLS {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			t.Fatalf("starting a registry: %v", err)
		}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // errors of clients that do not trust the authority
		s.StartTLS()
	} else {
		s.Start()
	}
	r.Host = f.start(t, s).Host
	r.Stop = sync.OnceFunc(func() { s.CloseClientConnections(); s.Close() })
}

// runReal runs the distribution registry. It stores its content in a directory of the test.
func (r *Registry) runReal(t testing.TB, dir, configuration string) {
	t.Helper()
	conf := filepath.Join(dir, "config.yml")
	writeFile(t, conf, configuration)
	cmd := exec.Command(livetest.Tool(t, "registry"), "serve", conf)
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatalf("starting a registry: %v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting a registry: %v", err)
	}
	w := watch(logs)
	r.Stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		<-w.ended
		_ = cmd.Wait()
	})
	t.Cleanup(r.Stop)
	select {
	case r.Host = <-w.host:
	case <-w.ended:
		t.Fatalf("the registry ended:\n%s", w.text())
	case <-time.After(startTimeout):
		t.Fatalf("the registry does not listen after %s:\n%s", startTimeout, w.text())
	}
}

func config(t testing.TB, dir string, o Options, certFile, keyFile string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "version: 0.1\nlog: {level: info, accesslog: {disabled: true}}\n")
	fmt.Fprintf(&b, "storage:\n  filesystem: {rootdirectory: %q}\n  delete: {enabled: true}\n", filepath.Join(dir, "storage"))
	fmt.Fprintf(&b, "http:\n  addr: 127.0.0.1:0\n  secret: for tests\n")
	if o.TLS {
		fmt.Fprintf(&b, "  tls: {certificate: %q, key: %q}\n", certFile, keyFile)
	}
	if o.Logins {
		file := filepath.Join(dir, "htpasswd")
		writeFile(t, file, htpasswd)
		fmt.Fprintf(&b, "auth:\n  htpasswd: {realm: tests, path: %q}\n", file)
	}
	return b.String()
}

// watcher reads the address on which a registry listens from its log.
type watcher struct {
	host  chan string
	ended chan struct{}
	mu    sync.Mutex
	log   strings.Builder
}

func watch(logs io.Reader) *watcher {
	w := &watcher{host: make(chan string, 1), ended: make(chan struct{})}
	listening := regexp.MustCompile(`listening on (127\.0\.0\.1:[0-9]+)`)
	go func() {
		defer close(w.ended)
		lines := bufio.NewScanner(logs)
		for lines.Scan() {
			w.mu.Lock()
			w.log.WriteString(lines.Text() + "\n")
			w.mu.Unlock()
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case w.host <- m[1]:
				default:
				}
			}
		}
		_, _ = io.Copy(io.Discard, logs)
	}()
	return w
}

func (w *watcher) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// DockerConfig writes a Docker configuration with User's login for a key under auths, and returns
// its directory. For Docker the key is a host. For podman it may be host/namespace.
func DockerConfig(t testing.TB, key string) string {
	t.Helper()
	dir := t.TempDir()
	login := base64.StdEncoding.EncodeToString([]byte(User + ":" + Password))
	data, err := json.Marshal(map[string]any{"auths": map[string]any{key: map[string]string{"auth": login}}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "config.json"), string(data))
	return dir
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
