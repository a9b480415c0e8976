package reference_test

import (
	"fmt"
	"log"
	"path/filepath"
	"slices"

	"github.com/krmcat/krmcat/registry/reference"
)

func ExampleParse() {
	l, err := reference.Parse("oci://registry.example.com/team/catalog:v1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Scheme, l.Name, l.Tag)
	_, err = reference.Parse("git::https://example.com/catalog")
	fmt.Println(err)
	// Output:
	// oci registry.example.com/team/catalog v1
	// reference "git::https://example.com/catalog": git is not supported yet
}

func ExampleParseImage() {
	l, err := reference.ParseImage("alpine:3")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l)
	// Output: oci://docker.io/library/alpine:3
}

func ExampleLocator_At() {
	l, err := reference.Parse("oci-layout://./catalogs:v1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(filepath.ToSlash(l.At("base").String()), filepath.ToSlash(l.At("base").Dir()))
	// Output: oci-layout://base/catalogs:v1 base
}

func ExampleLocator_Same() {
	declared, err := reference.Parse("oci://registry.example.com/catalog")
	if err != nil {
		log.Fatal(err)
	}
	trusted, err := reference.Parse("oci://Registry.example.com/catalog:latest")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(declared.Same(trusted))
	// Output: true
}

func ExamplePattern_Match() {
	var ps []reference.Pattern
	for _, s := range []string{"**", "oci://*.example.com/functions/**", "oci://eu.example.com/functions/label:v1"} {
		p, err := reference.ParsePattern(s)
		if err != nil {
			log.Fatal(err)
		}
		ps = append(ps, p)
	}
	slices.SortFunc(ps, reference.Pattern.Compare)
	l, err := reference.Parse("oci://eu.example.com/functions/label:v2")
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range ps {
		fmt.Println(p, p.Match(l))
	}
	_, err = reference.ParsePattern("oci://*/functions")
	fmt.Println(err)
	// Output:
	// oci://eu.example.com/functions/label:v1 false
	// oci://*.example.com/functions/** true
	// ** true
	// pattern "oci://*/functions": its host matches any host: write out its end, or ** alone for every place
}
