package cosign

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
)

// MaxMessage is how long a message may be, in bytes: registry reads at most 8 MiB of signatures of
// one manifest, of which JSON writes a control character as six bytes, and a policy names at most 4
// MiB of trusted root, which base64 makes a third longer.
const MaxMessage = 64 << 20

// maxAnswer is the maximum length of a service response that is passed on, in bytes. The judge
// refuses responses of this length.
const maxAnswer = 1<<20 + 1

// Op is an operation of a judge.
type Op string

// The operations, and the fields of their responses.
const (
	OpBuild    Op = "build"    // check a Demand: Judge
	OpJudge    Op = "judge"    // verify Found by Demand: Verdict
	OpKey      Op = "key"      // read Key: Public
	OpSign     Op = "sign"     // sign Claim with Key: Attached
	OpKeyless  Op = "keyless"  // check Keyless
	OpIdentity Op = "identity" // sign Claim with Keyless: Attached
	OpGenerate Op = "generate" // generate a key of a Kind: Private and Public
)

// Request is one request to a judge.
type Request struct {
	ID       uint64                `json:"id"` // repeated in the response
	Op       Op                    `json:"op"`
	Demand   *Demand               `json:"demand,omitempty"` // nil if nobody is trusted
	Subject  digest.Digest         `json:"subject,omitempty"`
	Found    []registry.Attachment `json:"found,omitempty"`
	Key      []byte                `json:"key,omitempty"` // private, in PEM
	Password []byte                `json:"password,omitempty"`
	Forms    []Form                `json:"forms,omitempty"`
	Keyless  *KeylessOptions       `json:"keyless,omitempty"`
	Claim    Claim                 `json:"claim"`
	Kind     string                `json:"kind,omitempty"`
}

// Response is the response of a judge, or with Ask a service request, which an Answer follows.
type Response struct {
	ID       uint64                `json:"id"`
	Ask      *Ask                  `json:"ask,omitempty"`
	Failure  *Failure              `json:"failure,omitempty"` // nothing else is set then
	Judge    *Description          `json:"judge,omitempty"`
	Verdict  *Verdict              `json:"verdict,omitempty"`
	Attached []registry.Attachment `json:"attached,omitempty"`
	Private  []byte                `json:"private,omitempty"`
	Public   []byte                `json:"public,omitempty"`
}

// Description describes the requirements of a judge: see verify.Judge, Listing and Noting.
type Description struct {
	Text   string   `json:"text"`
	Listed []string `json:"listed,omitempty"`
	Needed int      `json:"needed"`
	All    bool     `json:"all,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

// Verdict is a verify.Verdict that repeats the subject and says explicitly whether it is satisfied,
// so that it cannot be taken for another one.
type Verdict struct {
	Subject    digest.Digest      `json:"subject"`
	Satisfied  bool               `json:"satisfied"`
	Needed     int                `json:"needed"`
	Signatures []verify.Signature `json:"signatures,omitempty"`
	Reasons    []verify.Reason    `json:"reasons,omitempty"`
}

// Ask is a request to a service. The judge has no network.
type Ask struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
}

// Answer is the response of a service, truncated after 1 MiB and one byte.
type Answer struct {
	Status int         `json:"status,omitempty"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
	Failed string      `json:"failed,omitempty"` // why there is no response
}

// Send writes one message: its length as 4 bytes, big-endian, then JSON.
func Send(w io.Writer, message any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message); err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	data := text.Bytes()
	if len(data) > MaxMessage {
		return fmt.Errorf("a message has %d bytes, at most %d are allowed", len(data), MaxMessage)
	}
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)) //nolint:gosec // it is no more than MaxMessage
	return err
}

// Receive reads one message, strictly. It returns io.EOF at the end of the connection.
func Receive(r io.Reader, message any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxMessage {
		return fmt.Errorf("a message has %d bytes, at most %d are allowed", n, MaxMessage)
	}
	var data bytes.Buffer // grows with the received data, not the announced length
	if _, err := io.CopyN(&data, r, int64(n)); err != nil {
		return errors.Join(io.ErrUnexpectedEOF, err)
	}
	d := json.NewDecoder(&data)
	d.DisallowUnknownFields()
	if err := d.Decode(message); err != nil {
		return fmt.Errorf("reading a message: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("reading a message: there is more after it")
	}
	return nil
}
