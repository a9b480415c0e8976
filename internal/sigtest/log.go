package sigtest

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-openapi/runtime"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/types"

	// The kinds of entries.
	_ "github.com/sigstore/rekor/pkg/types/dsse/v0.0.1"
	_ "github.com/sigstore/rekor/pkg/types/hashedrekord/v0.0.1"
	_ "github.com/sigstore/rekor/pkg/types/intoto/v0.0.2"
	"github.com/sigstore/rekor/pkg/util"
	"github.com/sigstore/sigstore/pkg/signature"
)

const (
	logHost = "rekor.localhost"
	treeID  = 0x5167
	// olderEntries is the number of entries in older trees: the index in the log differs from the
	// index in the tree.
	olderEntries = 1000
)

// transparencyLog is a Merkle tree of entries: RFC 6962, section 2.1.
type transparencyLog struct {
	key *ecdsa.PrivateKey
	id  []byte

	mu     sync.Mutex
	leaves [][]byte // hashes
}

// entry is the log's answer about one entry.
type entry struct {
	Body           []byte        `json:"body"`
	IntegratedTime int64         `json:"integratedTime"`
	LogID          string        `json:"logID"`
	LogIndex       int           `json:"logIndex"`
	Verification   *verification `json:"verification,omitempty"`
}

type verification struct {
	InclusionProof       *proof `json:"inclusionProof,omitempty"`
	SignedEntryTimestamp []byte `json:"signedEntryTimestamp,omitempty"`
}

type proof struct {
	Checkpoint string   `json:"checkpoint"`
	Hashes     []string `json:"hashes"`
	LogIndex   int      `json:"logIndex"`
	RootHash   string   `json:"rootHash"`
	TreeSize   int      `json:"treeSize"`
}

func newTransparencyLog() (*transparencyLog, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	id, err := keyID(key.Public())
	// Entries of other signers, so that an inclusion proof has hashes.
	others := [][]byte{leafHash([]byte("one")), leafHash([]byte("two")), leafHash([]byte("three"))}
	return &transparencyLog{key: key, id: id, leaves: others}, err
}

// add adds an entry to the log, and returns it with its name.
func (l *transparencyLog) add(ctx context.Context, body []byte, b Behaviour) (string, entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	index := len(l.leaves)
	l.leaves = append(l.leaves, leafHash(body))
	e := entry{
		Body: body, IntegratedTime: time.Now().Add(-b.LogAge).Unix(),
		LogID: hex.EncodeToString(l.id), LogIndex: olderEntries + index,
	}
	v := &verification{}
	var err error
	if !b.WithoutPromise {
		if v.SignedEntryTimestamp, err = l.promise(e); err != nil {
			return "", e, err
		}
	}
	if !b.WithoutProof {
		if v.InclusionProof, err = l.prove(ctx, index); err != nil {
			return "", e, err
		}
	}
	e.Verification = v
	return fmt.Sprintf("%016x%x", treeID, l.leaves[index]), e, nil
}

// promise returns the signed entry timestamp. The JSON of an entry without the proof is canonical:
// its fields are in alphabetical order, and nothing in them is escaped.
func (l *transparencyLog) promise(e entry) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(text)
	return ecdsa.SignASN1(rand.Reader, l.key, hash[:])
}

func (l *transparencyLog) prove(ctx context.Context, index int) (*proof, error) {
	signer, err := signature.LoadECDSASignerVerifier(l.key, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	top := treeHash(l.leaves)
	checkpoint, err := util.CreateAndSignCheckpoint(ctx, logHost, treeID, uint64(len(l.leaves)), top, signer)
	if err != nil {
		return nil, err
	}
	p := &proof{
		Checkpoint: string(checkpoint), LogIndex: index, Hashes: []string{},
		RootHash: hex.EncodeToString(top), TreeSize: len(l.leaves),
	}
	for _, h := range path(index, l.leaves) {
		p.Hashes = append(p.Hashes, hex.EncodeToString(h))
	}
	return p, nil
}

func leafHash(body []byte) []byte {
	h := sha256.Sum256(append([]byte{0}, body...))
	return h[:]
}

func nodeHash(left, right []byte) []byte {
	h := sha256.Sum256(append(append([]byte{1}, left...), right...))
	return h[:]
}

// split returns the largest power of two that is less than n.
func split(n int) int {
	k := 1
	for k*2 < n {
		k *= 2
	}
	return k
}

func treeHash(leaves [][]byte) []byte {
	if len(leaves) == 1 {
		return leaves[0]
	}
	k := split(len(leaves))
	return nodeHash(treeHash(leaves[:k]), treeHash(leaves[k:]))
}

// path returns the hashes on the path from a leaf to the root.
func path(i int, leaves [][]byte) [][]byte {
	if len(leaves) == 1 {
		return nil
	}
	k := split(len(leaves))
	if i < k {
		return append(path(i, leaves[:k]), treeHash(leaves[k:]))
	}
	return append(path(i-k, leaves[k:]), treeHash(leaves[:k]))
}

// record checks a proposed entry as Rekor does, and adds its canonical form.
func (s *Sigstore) record(ctx context.Context, proposed []byte, b Behaviour) (string, entry, error) {
	p, err := models.UnmarshalProposedEntry(bytes.NewReader(proposed), runtime.JSONConsumer())
	if err != nil {
		return "", entry{}, err
	}
	e, err := types.CreateVersionedEntry(p)
	if err != nil {
		return "", entry{}, err
	}
	body, err := types.CanonicalizeEntry(ctx, e)
	if err != nil {
		return "", entry{}, err
	}
	return s.log.add(ctx, body, b)
}

func (s *Sigstore) createEntry(ctx context.Context, w http.ResponseWriter, r *request) error {
	return s.create(ctx, w, r, s.behaviour())
}

// whole is the path of a log that always answers with a proof and a promise.
const whole = "/whole"

// createWholeEntry is for sigstore-go, which fails on an answer without a proof. The proof is
// removed from the bundle afterwards.
func (s *Sigstore) createWholeEntry(ctx context.Context, w http.ResponseWriter, r *request) error {
	return s.create(ctx, w, r, Behaviour{LogAge: s.behaviour().LogAge})
}

func (s *Sigstore) create(ctx context.Context, w http.ResponseWriter, r *request, b Behaviour) error {
	name, e, err := s.record(ctx, r.body, b)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", name)
	w.Header().Set("Location", "/api/v1/log/entries/"+name)
	respond(w, http.StatusCreated, map[string]entry{name: e})
	return nil
}

func (s *Sigstore) logPublicKey(_ context.Context, w http.ResponseWriter, _ *request) error {
	text, err := publicKeyPEM(s.log.key.Public())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-pem-file")
	_, err = w.Write(text)
	return err
}

// annotation returns an entry in the form in which cosign stores it next to a signature.
func (e entry) annotation() (string, error) {
	text, err := json.Marshal(map[string]any{
		"SignedEntryTimestamp": e.Verification.SignedEntryTimestamp,
		"Payload": map[string]any{
			"body": base64.StdEncoding.EncodeToString(e.Body), "integratedTime": e.IntegratedTime,
			"logIndex": e.LogIndex, "logID": e.LogID,
		},
	})
	return string(text), err
}
