package pages

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/mediatypes"
)

// top is the root of the module.
var top = filepath.Join("..", "..")

func page(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// block is a fenced block of a page.
type block struct {
	info, text string
	line       int
}

func blocks(text string) []block {
	var out []block
	inside := false
	number := 0
	for line := range strings.Lines(text) {
		number++
		if info, ok := strings.CutPrefix(line, "```"); ok {
			if inside = !inside; inside {
				out = append(out, block{info: strings.TrimSpace(info), line: number + 1})
			}
			continue
		}
		if inside {
			out[len(out)-1].text += line
		}
	}
	return out
}

func TestMediaTypesAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	want := map[string][2]string{
		"Catalog":          {mediatypes.CatalogLayer, mediatypes.CatalogArtifact},
		"Definition":       {mediatypes.DefinitionLayer, mediatypes.DefinitionArtifact},
		"Starlark runtime": {mediatypes.StarlarkLayer, mediatypes.StarlarkArtifact},
		"Exec runtime":     {mediatypes.ExecLayer, mediatypes.ExecArtifact},
	}
	got := map[string][2]string{}
	row := regexp.MustCompile("(?m)^\\| ([A-Z][a-zA-Z ]+) \\| `(application/[^`]+)` \\| `(application/[^`]+)` \\|$")
	for _, m := range row.FindAllStringSubmatch(page(t, "docs/formats.md"), -1) {
		got[m[1]] = [2]string{m[2], m[3]}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/formats.md and mediatypes differ:\n%s", diff)
	}
}

func TestManifestsOnThePageMatch(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, b := range blocks(page(t, "docs/formats.md")) {
		role, ok := strings.CutPrefix(b.info, "json role=")
		if !ok {
			continue
		}
		seen[role]++
		if role == "index" {
			var index ocispec.Index
			if err := json.Unmarshal([]byte(b.text), &index); err != nil {
				t.Errorf("line %d: %v", b.line, err)
			} else if index.MediaType != ocispec.MediaTypeImageIndex || index.ArtifactType != mediatypes.ExecArtifact {
				t.Errorf("line %d: the index is not one of an exec runtime", b.line)
			}
			continue
		}
		var m ocispec.Manifest
		if err := json.Unmarshal([]byte(b.text), &m); err != nil {
			t.Errorf("line %d: %v", b.line, err)
			continue
		}
		if got, ok := mediatypes.RoleOf(m); !ok || string(got) != role {
			t.Errorf("line %d: the manifest is a %q, the page says %q", b.line, got, role)
		}
		if m.Config.Digest != ocispec.DescriptorEmptyJSON.Digest || m.Config.Size != ocispec.DescriptorEmptyJSON.Size {
			t.Errorf("line %d: the config is not the empty config", b.line)
		}
	}
	for _, role := range []string{"catalog", "starlark", "index", "exec"} {
		if seen[role] == 0 {
			t.Errorf("docs/formats.md shows no %s", role)
		}
	}
}

func TestCatalogsOnThePagesAreRead(t *testing.T) {
	t.Parallel()
	found := 0
	for _, b := range blocks(page(t, "docs/formats.md")) {
		if b.info != "yaml catalog" {
			continue
		}
		found++
		if _, err := catalog.Decode("docs/formats.md", []byte(b.text)); err != nil {
			t.Errorf("the catalog at line %d: %v", b.line, err)
		}
	}
	if found < 2 {
		t.Errorf("found only %d catalogs", found)
	}
}
