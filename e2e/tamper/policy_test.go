package tamper

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry"
)

// editFile changes one letter of a file in the user's directory.
func (s *scene) editFile(name string) {
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	data, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, edited(data), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// editIndex removes the entries of the layout's index for which keep returns false.
func (s *scene) editIndex(keep func(ocispec.Descriptor) bool) {
	path := filepath.Join(s.dir, "lay", "index.json")
	data, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	var index ocispec.Index
	if err := json.Unmarshal(data, &index); err != nil {
		s.t.Fatal(err)
	}
	index.Manifests = slices.DeleteFunc(index.Manifests, func(d ocispec.Descriptor) bool { return !keep(d) })
	if err := os.WriteFile(path, marshal(index), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// policy writes a policy file with one rule for catalogs and runtimes, and returns the command that
// verifies by it.
func (s *scene) policy(match, demand string) []string {
	s.write("policy.yaml", strings.NewReplacer("MATCH", match, "DEMAND", demand).Replace(`apiVersion: krmcat.dev/v1alpha1
kind: TrustPolicy
metadata: {name: tests}
spec:
  rules:
  - match: 'MATCH'
    catalogs: DEMAND
    runtimes: DEMAND
`))
	return []string{"verify", "--policy", "policy.yaml", label}
}

// policyRows violate what a policy requires besides a signature.
func policyRows() map[string]tampering {
	both := "{cosign: {threshold: 2, keys: [{path: platform.pub}, {path: friend.pub}], insecureIgnoreTlog: true}}"
	two := func(s *scene) (ocispec.Descriptor, []string) {
		d := s.signedScript()
		s.attach("fns/label", d, s.friend.both(d)...)
		return d, s.policy("**", both)
	}
	annotated := func(tampered func(s *scene, d ocispec.Descriptor) registry.Attachment) func(*scene) ([]string, func()) {
		return func(s *scene) ([]string, func()) {
			d := s.script("fns/label", goodScript, "v1")
			s.attach("fns/label", d, s.platform.bundle(said{digest: d.Digest, annotations: map[string]string{"env": "prod"}}))
			return verifyKey(label, "--require-annotation", "env=prod"), func() {
				s.strip("fns/label", d)
				s.attach("fns/label", d, tampered(s, d))
			}
		}
	}
	return map[string]tampering{
		"two signers required, one signs twice in both forms": {func(s *scene) ([]string, func()) {
			d, run := two(s)
			return run, func() {
				s.strip("fns/label", d)
				s.attach("fns/label", d, s.platform.both(d)...)
				again := said{digest: d.Digest, annotations: map[string]string{"again": "yes"}}
				s.attach("fns/label", d, s.platform.legacy(again), s.platform.bundle(again))
			}
		}, "1 of 2 signatures needed.*found platform.pub"},
		"two signers required, one signed": {func(s *scene) ([]string, func()) {
			d, run := two(s)
			return run, func() {
				s.strip("fns/label", d)
				s.attach("fns/label", d, s.friend.bundle(said{digest: d.Digest}))
			}
		}, "1 of 2 signatures needed.*found friend.pub"},
		"two signers required, the second is a stranger": {func(s *scene) ([]string, func()) {
			d, run := two(s)
			return run, func() {
				s.strip("fns/label", d)
				s.attach("fns/label", d, append(s.platform.both(d), s.stranger.both(d)...)...)
			}
		}, "1 of 2 signatures needed.*found platform.pub"},
		"a required annotation is missing": {annotated(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			return s.platform.bundle(said{digest: d.Digest})
		}), "it has no annotation env, wanted prod"},
		"a required annotation has another value": {annotated(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			return s.platform.legacy(said{digest: d.Digest, annotations: map[string]string{"env": "test"}})
		}), "annotation env is test, wanted prod"},
		"a required annotation that is not part of the signed payload": {annotated(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			a := s.platform.legacy(said{digest: d.Digest})
			a.Annotations = map[string]string{"env": "prod"}
			a.Files[0].Annotations["env"] = "prod"
			return a
		}), "it has no annotation env, wanted prod"},
		"a required annotation that only a stranger's signature has": {annotated(func(s *scene, d ocispec.Descriptor) registry.Attachment {
			s.attach("fns/label", d, s.stranger.bundle(said{digest: d.Digest, annotations: map[string]string{"env": "prod"}}))
			return s.platform.bundle(said{digest: d.Digest})
		}), "(?s)it has no annotation env.*not trusted|not trusted.*it has no annotation env"},
		"downgrade from a bundle to the legacy form": {func(s *scene) ([]string, func()) {
			d := s.signedScript()
			run := s.policy("**", "{cosign: {keys: [{path: platform.pub}], formats: [bundle], insecureIgnoreTlog: true}}")
			return run, func() { s.strip("fns/label", d, "bundle") }
		}, "signatures of the legacy form are not accepted here"},
		"downgrade to a signature without a log entry": {func(s *scene) ([]string, func()) {
			d := s.script("fns/label", goodScript, "v1")
			store := sigtest.New(s.t)
			store.Write(s.dir, alice())
			s.attach("fns/label", d, store.Bundle(sigtest.Claim{Who: alice(), Digest: d.Digest}))
			run := s.policy("**", "{cosign: {keys: [{path: platform.pub}], trustedRoot: {path: trusted_root.json},"+
				" identities: [{subject: alice@example.com, issuer: 'https://issuer.example.com'}]}}")
			return run, func() {
				s.strip("fns/label", d)
				s.attach("fns/label", d, s.platform.both(d)...)
			}
		}, "(?s)legacy signature: no transparency log entry.*bundle signature: no transparency log entry"},
		"no rule applies to it": {func(s *scene) ([]string, func()) {
			s.signedScript()
			demand := "{cosign: {keys: [{path: platform.pub}], insecureIgnoreTlog: true}}"
			run := s.policy("oci://HOST/fns/**", demand)
			return run, func() { s.policy("oci://registry.example.com/**", demand) }
		}, "no rule of tests .*policy.yaml.* applies to it"},
		"a digest is required": {func(s *scene) ([]string, func()) {
			d := s.signedScript()
			run := s.policy("**", "{digests: true, cosign: {keys: [{path: platform.pub}], insecureIgnoreTlog: true}}")
			run[len(run)-1] += "@" + d.Digest.String()
			return run, func() { run[len(run)-1] = label }
		}, "asks for a digest"},
	}
}

// spellingRows write a reference in the target, or in the catalog, in another form, so that a
// weaker rule could apply to it.
func spellingRows() map[string]tampering {
	const demand = "{cosign: {keys: [{path: platform.pub}], insecureIgnoreTlog: true}, ownSignature: true}"
	// rules writes a policy with one rule for a place, and one rule that allows everything else.
	rules := func(s *scene, match, kind string) {
		demand := demand
		if kind == "catalogs" {
			demand = strings.Replace(demand, ", ownSignature: true", "", 1)
		}
		s.write("policy.yaml", `apiVersion: krmcat.dev/v1alpha1
kind: TrustPolicy
metadata: {name: tests}
spec:
  rules:
  - {match: '`+match+`', `+kind+": "+demand+`}
  - match: '**'
    catalogs: {nothing: the rest}
    runtimes: {nothing: the rest}
`)
	}
	// declared removes the signature of the catalog, and changes how the target spells the
	// reference HOST/fns/catalog.
	declared := func(match, trusted string, as func(ocispec.Descriptor) string) tampering {
		return tampering{func(s *scene) ([]string, func()) {
			script := s.script("fns/label", goodScript, "v1")
			catalog := s.signedCatalog("Label", "{starlark: 'oci://HOST/fns/label:v1"+pin(script)+"'}")
			rules(s, match, "catalogs")
			run := s.render("--policy", "policy.yaml")
			run[3] = "oci://HOST/fns/catalog" + strings.ReplaceAll(trusted, "@", pin(catalog))
			s.replaceFile("app/kustomization.yaml", "fns/catalog:v1", "fns/catalog"+strings.ReplaceAll(trusted, "@", pin(catalog)))
			return run, func() {
				s.strip("fns/catalog", catalog)
				s.replaceFile("app/kustomization.yaml", "oci://HOST/fns/catalog"+strings.ReplaceAll(trusted, "@", pin(catalog)), as(catalog))
			}
		}, "fns/catalog.* is not trusted: .*policy.yaml:6 asks for a signature by platform.pub"}
	}
	runtime := func(match, as string) tampering {
		return tampering{func(s *scene) ([]string, func()) {
			script := s.signedScript()
			s.signedCatalog("Label", "{starlark: 'oci://HOST/fns/label:v1'}")
			rules(s, match, "runtimes")
			return s.render("--policy", "policy.yaml"), func() {
				s.strip("fns/label", script)
				s.signedCatalog("Label", "{starlark: '"+strings.ReplaceAll(as, "@", pin(script))+"'}")
			}
		}, "fns/label.* is not trusted: .*policy.yaml:6 asks for a signature by platform.pub"}
	}
	const tagged = "oci://HOST/fns/catalog:v1"
	return map[string]tampering{
		"the target adds the digest to a tag that a rule matches": declared(tagged, ":v1", func(d ocispec.Descriptor) string {
			return "oci://HOST/fns/catalog:v1" + pin(d)
		}),
		"the target replaces the tag that the flag pins by the digest": declared(tagged, ":v1@", func(d ocispec.Descriptor) string {
			return "oci://HOST/fns/catalog" + pin(d)
		}),
		"the target writes another tag with the digest that the flag pins": declared(tagged, ":v1@", func(d ocispec.Descriptor) string {
			return "oci://HOST/fns/catalog:v2" + pin(d)
		}),
		"the target adds the digest to a tag that a rule's wildcard matches": declared("oci://HOST/fns/*:v*", ":v1", func(d ocispec.Descriptor) string {
			return "oci://HOST/fns/catalog:v1" + pin(d)
		}),
		"the target writes a digest without a tag, and the rule matches all tags": declared("oci://HOST/fns/catalog:*", ":v1@", func(d ocispec.Descriptor) string {
			return "oci://HOST/fns/catalog" + pin(d)
		}),
		"a catalog adds the digest to a tag that a rule matches":                 runtime("oci://HOST/fns/label:v1", "oci://HOST/fns/label:v1@"),
		"a catalog adds the digest to a tag that a rule's wildcard matches":      runtime("oci://HOST/fns/lab*:v*", "oci://HOST/fns/label:v1@"),
		"a catalog writes a digest without a tag, and the rule matches all tags": runtime("oci://HOST/fns/label:*", "oci://HOST/fns/label@"),
		"a catalog writes a tag alone, and the rule matches all tags":            runtime("oci://HOST/fns/label:*", "oci://HOST/fns/label:v1"),
	}
}

// replaceFile replaces a text in a file of the user's directory.
func (s *scene) replaceFile(name, old, with string) {
	data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(name, strings.ReplaceAll(string(data), s.fill(old), s.fill(with)))
}

// render writes a target whose transformer is the function Label of the catalog, and returns the
// command that renders it.
func (s *scene) render(more ...string) []string {
	s.write("app/kustomization.yaml", `catalogs: ['oci://HOST/fns/catalog:v1']
resources: [cm.yaml]
transformers:
- {apiVersion: example.com/v1, kind: Label, metadata: {name: label}}
`)
	s.write("app/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\n")
	return append([]string{"render", "app", "--trusted-catalog", "oci://HOST/fns/catalog:v1"}, more...)
}

// renderProg does the same for the function Prog, which is a program.
func (s *scene) renderProg(more ...string) []string {
	run := s.render(more...)
	s.write("app/kustomization.yaml", `catalogs: ['oci://HOST/fns/catalog:v1']
resources: [cm.yaml]
transformers:
- {apiVersion: example.com/v1, kind: Prog, metadata: {name: prog}}
`)
	return run
}

// signedCatalog publishes a signed catalog with one function.
func (s *scene) signedCatalog(kind, runtime string) ocispec.Descriptor {
	d := s.catalog("fns/catalog", map[string]string{kind: runtime}, "v1")
	s.attach("fns/catalog", d, s.platform.both(d)...)
	return d
}

func pin(d ocispec.Descriptor) string { return "@" + d.Digest.String() }

// layer returns the only layer of a manifest.
func (s *scene) layer(repo string, manifest ocispec.Descriptor) (d ocispec.Descriptor) {
	s.change(repo, func(r *repository) {
		var m ocispec.Manifest
		s.read(r.Manifests[manifest.Digest.String()], &m)
		d = m.Layers[0]
	})
	return d
}

// renderRows change what a render uses: the render prints nothing.
func renderRows() map[string]tampering {
	key := []string{"--key", "platform.pub"}
	pinned := func(s *scene) (catalog, script ocispec.Descriptor) {
		script = s.script("fns/label", goodScript, "v1")
		return s.signedCatalog("Label", "{starlark: 'oci://HOST/fns/label:v1"+pin(script)+"'}"), script
	}
	return map[string]tampering{
		"the bytes of a script changed": {func(s *scene) ([]string, func()) {
			_, script := pinned(s)
			return s.render(key...), func() { s.edit("fns/label", s.layer("fns/label", script)) }
		}, "content does not match its digest"},
		"the manifest of a pinned script changed": {func(s *scene) ([]string, func()) {
			_, script := pinned(s)
			return s.render(key...), func() { s.edit("fns/label", script) }
		}, "content does not match its digest"},
		"the bytes of a catalog changed": {func(s *scene) ([]string, func()) {
			catalog, _ := pinned(s)
			return s.render(key...), func() { s.edit("fns/catalog", s.layer("fns/catalog", catalog)) }
		}, "content does not match its digest"},
		"another catalog behind the tag": {func(s *scene) ([]string, func()) {
			pinned(s)
			return s.render(key...), func() {
				evil := s.script("fns/evil", evilScript, "v1")
				s.catalog("fns/catalog", map[string]string{"Label": "{starlark: 'oci://HOST/fns/evil:v1" + pin(evil) + "'}"}, "v1")
			}
		}, "fns/catalog:v1 .*nobody signed it"},
		"the bytes of a program changed": {func(s *scene) ([]string, func()) {
			index, child := s.program("fns/prog", goodProgram, "v1")
			s.signedCatalog("Prog", "{exec: {uri: 'oci://HOST/fns/prog"+pin(index)+"', sha256: "+s.layer("fns/prog", child).Digest.Encoded()+"}}")
			return s.renderProg(key...), func() { s.edit("fns/prog", s.layer("fns/prog", child)) }
		}, "content does not match its digest"},
		"the manifest of a program in its index swapped": {func(s *scene) ([]string, func()) {
			index, child := s.program("fns/prog", goodProgram, "v1")
			s.signedCatalog("Prog", "{exec: {uri: 'oci://HOST/fns/prog"+pin(index)+"'}}")
			return s.renderProg(key...), func() {
				s.change("fns/prog", func(r *repository) {
					evil := evilChild(r)
					r.Manifests[child.Digest.String()] = r.Manifests[evil.Digest.String()]
				})
			}
		}, "content does not match its digest"},
		"a catalog whose sha256 no longer matches its script": {func(s *scene) ([]string, func()) {
			script := s.script("fns/label", goodScript, "v1")
			s.signedCatalog("Label", "{starlark: {uri: 'oci://HOST/fns/label:v1', sha256: "+s.layer("fns/label", script).Digest.Encoded()+"}}")
			return s.render(key...), func() { s.script("fns/label", evilScript, "v1") }
		}, "the catalog promises sha256 [0-9a-f]{64}, the file has [0-9a-f]{64}"},
		"a catalog whose sha256 no longer matches its program": {func(s *scene) ([]string, func()) {
			_, child := s.program("fns/prog", goodProgram, "v1")
			s.signedCatalog("Prog", "{exec: {uri: 'oci://HOST/fns/prog:v1', sha256: "+s.layer("fns/prog", child).Digest.Encoded()+"}}")
			return s.renderProg(key...), func() { s.program("fns/prog", evilProgram, "v1") }
		}, "the catalog promises sha256 [0-9a-f]{64}, the file has [0-9a-f]{64}"},
		"a catalog whose sha256 no longer matches its script, by verify": {func(s *scene) ([]string, func()) {
			script := s.script("fns/label", goodScript, "v1")
			s.signedCatalog("Label", "{starlark: {uri: 'oci://HOST/fns/label:v1', sha256: "+s.layer("fns/label", script).Digest.Encoded()+"}}")
			return verifyKey("--recursive", "oci://HOST/fns/catalog:v1"), func() { s.script("fns/label", evilScript, "v1") }
		}, "the catalog promises sha256"},
		"a signed catalog that names an unsigned script by tag": {func(s *scene) ([]string, func()) {
			script := s.signedScript()
			s.signedCatalog("Label", "{starlark: 'oci://HOST/fns/label:v1'}")
			return s.render(key...), func() { s.strip("fns/label", script) }
		}, "fns/label:v1 .*asks for a signature by platform.pub.*nobody signed it"},
		"a script by tag, and the tag moved after signing": {func(s *scene) ([]string, func()) {
			s.signedScript()
			s.signedCatalog("Label", "{starlark: 'oci://HOST/fns/label:v1'}")
			return s.render(key...), func() { s.script("fns/label", evilScript, "v1") }
		}, "fns/label:v1 .*nobody signed it"},
		"a pinned script whose own signature is required and removed": {func(s *scene) ([]string, func()) {
			script := s.signedScript()
			s.signedCatalog("Label", "{starlark: 'oci://HOST/fns/label:v1"+pin(script)+"'}")
			s.policy("**", "{cosign: {keys: [{path: platform.pub}], insecureIgnoreTlog: true}}")
			s.own()
			return s.render("--policy", "policy.yaml"), func() { s.strip("fns/label", script) }
		}, "fns/label.*nobody signed it"},
		"a pinned script, and the catalog's signature removed": {func(s *scene) ([]string, func()) {
			catalog, _ := pinned(s)
			return s.render(key...), func() { s.strip("fns/catalog", catalog) }
		}, "fns/catalog:v1 .*nobody signed it"},
		"a catalog that a stranger signed, as well as the script": {func(s *scene) ([]string, func()) {
			catalog, script := pinned(s)
			return s.render(key...), func() {
				s.strip("fns/catalog", catalog)
				s.attach("fns/catalog", catalog, s.stranger.both(catalog)...)
				s.attach("fns/label", script, s.stranger.both(script)...)
			}
		}, "none of the required keys made it"},
	}
}

// own writes a policy that also requires signatures of the runtimes that a catalog pins.
func (s *scene) own() {
	data, err := os.ReadFile(filepath.Join(s.dir, "policy.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	text := string(data)
	i := strings.LastIndex(text, "runtimes: {")
	s.write("policy.yaml", text[:i]+"runtimes: {ownSignature: true, "+text[i+len("runtimes: {"):])
}
