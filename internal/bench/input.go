package main

import (
	"bytes"
	"fmt"
	"strings"
)

// input is a directory to render: Deployments, Services and ConfigMaps in turn, and functions as
// transformers.
type input struct {
	resources, functions int
	copier               string // the program that exec functions run
	image                string // in place of copier: the container image
	starlark             bool   // the functions are Starlark functions of a catalog
	composition          bool   // a Composition in place of a Kustomization
}

// listFile holds a Composition's resources as a ResourceList, for kyaml.
const listFile = "list.yaml"

func (in input) files() map[string][]byte {
	files := map[string][]byte{"resources.yaml": in.manifests()}
	var catalogs, functions strings.Builder
	if in.starlark {
		catalogs.WriteString("catalogs:\n- catalog.yaml\n")
		files["catalog.yaml"] = []byte(starlarkCatalog)
		files["touch.star"] = []byte(script)
	}
	for i := range in.functions {
		name := fmt.Sprintf("fn-%d.yaml", i)
		fmt.Fprintf(&functions, "- %s\n", name)
		files[name] = in.config(i)
	}
	if in.composition {
		files["composition.yaml"] = []byte(composition + functions.String() + catalogs.String())
		files[listFile] = in.list()
		return files
	}
	k := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- resources.yaml\n" + catalogs.String()
	if in.functions > 0 {
		k += "transformers:\n" + functions.String()
	}
	files["kustomization.yaml"] = []byte(k)
	return files
}

const composition = `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Composition
transformers:
- kind: ResourceGenerator
  apiVersion: builtin
  metadata:
    name: r
  files:
  - resources.yaml
`

// config returns the functionConfig of function i.
func (in input) config(i int) []byte {
	text := fmt.Sprintf("apiVersion: bench.krmcat.dev/v1\nkind: Touch\nmetadata:\n  name: fn-%d\n", i)
	switch {
	case in.starlark:
	case in.image != "":
		text += "  annotations:\n    config.kubernetes.io/function: |\n      container:\n        image: " + in.image + "\n"
	case in.composition:
		text += "runtime:\n  exec:\n    path: ./copy\n"
	default:
		text += "  annotations:\n    config.kubernetes.io/function: |\n      exec:\n        path: ./copy\n"
	}
	return []byte(text)
}

// list returns the input of the first function, without the annotations that an orchestrator adds
// to each item.
func (in input) list() []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for _, doc := range strings.Split(string(in.manifests()), "---\n")[1:] {
		entry := "- " + strings.ReplaceAll(strings.TrimSuffix(doc, "\n"), "\n", "\n  ")
		b.WriteString(entry + "\n")
	}
	b.WriteString("functionConfig:\n  " + strings.ReplaceAll(strings.TrimSuffix(string(in.config(0)), "\n"), "\n", "\n  ") + "\n")
	return b.Bytes()
}

func (in input) manifests() []byte {
	var b bytes.Buffer
	for i := range in.resources {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, deployment, i, i, i, i)
		case 1:
			fmt.Fprintf(&b, service, i, i)
		case 2:
			fmt.Fprintf(&b, configMap, i, i, i)
		}
	}
	return b.Bytes()
}

const deployment = `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%d
  namespace: bench
spec:
  replicas: 2
  selector:
    matchLabels:
      app: app-%d
  template:
    metadata:
      labels:
        app: app-%d
    spec:
      containers:
      - name: main
        image: registry.example.com/app:v%d
        ports:
        - containerPort: 8080
        env:
        - name: LEVEL
          value: info
        resources:
          limits:
            cpu: 100m
            memory: 128Mi
`

const service = `---
apiVersion: v1
kind: Service
metadata:
  name: svc-%d
  namespace: bench
spec:
  selector:
    app: app-%d
  ports:
  - name: http
    port: 80
    targetPort: 8080
`

const configMap = `---
apiVersion: v1
kind: ConfigMap
metadata:
  name: cm-%d
  namespace: bench
data:
  number: "%d"
  text: |
    line one of %d
    line two
`

const starlarkCatalog = `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata:
  name: bench
spec:
  krmFunctions:
  - group: bench.krmcat.dev
    names:
      kind: Touch
    versions:
    - name: v1
      runtime:
        starlark:
          path: touch.star
`

const script = `label = ctx.resource_list["functionConfig"]["metadata"]["name"]
for item in ctx.resource_list["items"]:
    item["metadata"].setdefault("labels", {})["touched"] = label
`

// touched is the text that the script adds to each resource.
const touched = "\n    touched: "
