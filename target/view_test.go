package target_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/target"
)

// stories is KEP-2299's stories 1 and 2, with one more level on top.
const stories = `-- app/composition.yaml --
kind: Composition

transformers:
# generate resources for a Java application
- apiVersion: example.com/v1
  kind: JavaApplication
  runtime: {container: {image: docker.example.co/kustomize_transformers/java:v1.0.0}}
  metadata:
    name: my-app
  spec:
    application: team/my-app
    version: v1.0
# transform resources to inject a logger
- apiVersion: example.com/v1
  kind: Logger
  runtime: {container: {image: docker.example.co/kustomize_transformers/logger:v1.0.3}}
  metadata:
    name: logger
-- staging/composition.yaml --
kind: Composition

transformersFrom:
# import the JavaApplication and Logger transformers
- path: ../app/composition.yaml
  importMode: prepend

transformerOverrides:
# override the JavaApplication version before the function is run
- apiVersion: example.com/v1
  kind: JavaApplication
  metadata:
    name: my-app
  spec:
    version: v1.1-beta

transformers:
# transform resources from imported transformers to inject metrics
- apiVersion: example.com/v1
  kind: Prometheus
  runtime: {container: {image: docker.example.co/kustomize_transformers/prometheus:v1.0.2}}
  metadata:
    name: metrics
  spec:
    prefix: my-app-
-- composition.yaml --
kind: Composition
metadata: {name: all}
catalogs: [oci-layout://store:x]
transformersFrom:
- path: staging
transformers:
- kind: PrefixSuffixTransformer
  prefix: "on"
`

func TestConsolidate(t *testing.T) {
	t.Parallel()
	c, err := target.Consolidate(context.Background(), inMemory(t, stories), "/t", target.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Composition
metadata:
  name: all
catalogs:
- oci-layout://store:x
transformers:
# from app/composition.yaml:5
# overridden at staging/composition.yaml:10
- apiVersion: example.com/v1
  kind: JavaApplication
  runtime:
    container:
      image: docker.example.co/kustomize_transformers/java:v1.0.0
  metadata:
    name: my-app
  spec:
    application: team/my-app
    version: v1.1-beta
# from app/composition.yaml:14
- apiVersion: example.com/v1
  kind: Logger
  runtime:
    container:
      image: docker.example.co/kustomize_transformers/logger:v1.0.3
  metadata:
    name: logger
# from staging/composition.yaml:19
- apiVersion: example.com/v1
  kind: Prometheus
  runtime:
    container:
      image: docker.example.co/kustomize_transformers/prometheus:v1.0.2
  metadata:
    name: metrics
  spec:
    prefix: my-app-
# from composition.yaml:7
- kind: PrefixSuffixTransformer
  prefix: "on"
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	wantSources := []target.SourceFile{
		{File: "composition.yaml", Imports: []target.Import{{Source: 1, Mode: "prepend"}}, Transformers: []int{3}},
		{File: "staging/composition.yaml", Imports: []target.Import{{Source: 2, Mode: "prepend"}}, Transformers: []int{2}, Overrides: []int{0}},
		{File: "app/composition.yaml", Transformers: []int{0, 1}},
	}
	if diff := cmp.Diff(wantSources, c.Sources); diff != "" {
		t.Error(diff)
	}
}
