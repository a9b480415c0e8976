package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/kptfile"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
)

// KptfileName is the name of the file that makes a directory a kpt package.
const KptfileName = kptfile.Name

// KptImagePrefix is what the name of an image without a slash gets in a kpt package.
const KptImagePrefix = kptfile.ImagePrefix

// KptOptions say how a kpt package is rendered.
type KptOptions struct {
	Dir         string // absolute: the package, which programs run in and relative ones are below
	Display     string // the package as the user knows it
	ImagePrefix string // of images without a slash; "" for none
	Network     bool   // images ask for the network, which a Kptfile cannot say
}

// Kpt returns the kpt package whose resources, and those of the packages below it, were read from
// its directory. packages are the directories with a Kptfile, relative to it, itself among them as
// "". The error has all that is wrong in the Kptfiles. The package is there with an error too, for
// its status.
func Kpt(items []*yaml.RNode, packages []string, o KptOptions) (*KptPackage, error) {
	p := &KptPackage{options: o, all: map[string]*kptPackage{}}
	for _, dir := range packages {
		p.all[dir] = &kptPackage{dir: dir, file: path.Join(o.Display, dir, kptfile.Name)}
	}
	for _, n := range items {
		in := p.packageOf(resource.FileOf(n).Path)
		if in == nil {
			return nil, failure.Unexpected.Mark(fmt.Errorf("%s belongs to no package", resource.FileOf(n).Path))
		}
		in.own = append(in.own, n)
	}
	var errs []error
	for _, dir := range packages {
		errs = append(errs, p.all[dir].read())
	}
	if err := errors.Join(errs...); err != nil {
		return p, err
	}
	root := p.all[""]
	p.nest(packages)
	p.items = root.resources()
	for _, one := range root.order(root.says.BreadthFirst) {
		p.count++
		err := p.plan(one)
		p.invalid = p.invalid || one == root && err != nil
		errs = append(errs, err)
	}
	return p, errors.Join(errs...)
}

// KptPackage is a kpt package that can be built. It implements Target.
type KptPackage struct {
	options KptOptions
	all     map[string]*kptPackage // by directory
	items   []*yaml.RNode
	steps   []Step
	of      []kptfile.Function // of each Step
	count   int                // of packages
	invalid bool               // the Kptfile of the package itself

	partial []*yaml.RNode // the resources before the function that failed, if they are to be kept
}

// kptPackage is one of the packages in a directory.
type kptPackage struct {
	dir   string // relative to the package that is rendered; "" for that
	file  string // its Kptfile, for people
	says  *kptfile.Kptfile
	own   []*yaml.RNode // its resources, without those of packages below
	below []*kptPackage // directly, in the order of their paths
}

// packageOf returns the package that a file belongs to.
func (p *KptPackage) packageOf(file string) *kptPackage {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if dir == "." || dir == "/" {
			return p.all[""]
		}
		if in, ok := p.all[dir]; ok {
			return in
		}
	}
}

// read decodes the Kptfile.
func (p *kptPackage) read() error {
	found := p.at(kptfile.Name)
	switch {
	case len(found) == 0:
		return &yamldoc.Error{File: p.file, Msg: "it is empty, or has no apiVersion and kind: a Kptfile begins with apiVersion: " + kptfile.V1 + ", kind: " + kptfile.Kind}
	case len(found) > 1:
		return &yamldoc.Error{File: p.file, Line: found[1].YNode().Line, Msg: "a second document begins: a Kptfile is one document"}
	}
	var err error
	p.says, err = kptfile.DecodeNode(p.file, found[0].YNode())
	return err
}

// at returns the resources in a file of the package.
func (p *kptPackage) at(file string) []*yaml.RNode {
	var found []*yaml.RNode
	for _, n := range p.own {
		if resource.FileOf(n).Path == path.Join(p.dir, file) {
			found = append(found, n)
		}
	}
	return found
}

// nest puts each package below the nearest one above it.
func (p *KptPackage) nest(packages []string) {
	sorted := slices.Clone(packages)
	slices.Sort(sorted)
	for _, dir := range sorted {
		if dir != "" {
			above := p.packageOf(dir) // the directory above, since dir is no file of itself
			above.below = append(above.below, p.all[dir])
		}
	}
}

// resources returns those of a package, then those of the packages below it.
func (p *kptPackage) resources() []*yaml.RNode {
	all := slices.Clone(p.own)
	for _, b := range p.below {
		all = append(all, b.resources()...)
	}
	return all
}

// order returns the packages in the order in which they are rendered: the ones below first, or
// level by level.
func (p *kptPackage) order(breadthFirst bool) []*kptPackage {
	var list []*kptPackage
	if breadthFirst {
		list = []*kptPackage{p}
		for i := 0; i < len(list); i++ {
			list = append(list, list[i].below...)
		}
		return list
	}
	for _, b := range p.below {
		list = append(list, b.order(false)...)
	}
	return append(list, p)
}

// Kind implements Target.
func (p *KptPackage) Kind() string { return kptfile.Kind }

// Steps implements Target.
func (p *KptPackage) Steps() []Step { return p.steps }

// Notes implements Target.
func (p *KptPackage) Notes() []string {
	if p.count == 1 {
		return nil
	}
	order := "those below first"
	if p.all[""].says.BreadthFirst {
		order = "those above first, by the annotation kpt.dev/bfs-rendering"
	}
	return []string{fmt.Sprintf("%d packages, %s", p.count, order)}
}

// Build implements Target. It keeps the Kptfile of the package: a function that removes it has lost
// its input.
func (p *KptPackage) Build(ctx context.Context, apply Apply) (Built, error) {
	steps, items := newApplied(p.steps, apply), p.items
	p.items = nil
	for i := range p.steps {
		if p.all[""].says.SaveOnFailure {
			p.partial = copies(items)
		}
		p.takeConfig(i, items)
		var err error
		if items, err = steps.inFiles(ctx, i, items); err == nil {
			err = errors.Join(p.keepsKptfile(i, items), p.apart(i, items))
		}
		if err != nil {
			return Built{}, err
		}
	}
	p.partial = nil
	return builtInFiles(items), steps.missing()
}

// takeConfig sets the functionConfig of a Step to its resource as it is now.
func (p *KptPackage) takeConfig(i int, items []*yaml.RNode) {
	s := p.steps[i]
	if s.Latest == nil {
		return
	}
	for _, n := range items {
		if resource.FileOf(n).Path == s.Latest.File {
			s.Latest.Config = plainConfig(n)
			return
		}
	}
}

// keepsKptfile refuses what a function returned without the Kptfile of the package.
func (p *KptPackage) keepsKptfile(i int, items []*yaml.RNode) error {
	isIt := func(n *yaml.RNode) bool {
		return resource.FileOf(n).Path == kptfile.Name && resource.NameOf(n).Kind == kptfile.Kind
	}
	if slices.ContainsFunc(items, isIt) {
		return nil
	}
	return stepError(p.steps[i], "it removed the Kptfile of the package that is rendered")
}

// apart refuses two resources of one path and index.
func (p *KptPackage) apart(i int, items []*yaml.RNode) error {
	taken := make(map[resource.File]*yaml.RNode, len(items))
	for _, n := range items {
		f := resource.FileOf(n)
		if other := taken[f]; other != nil && f.Index != "" {
			return stepError(p.steps[i], fmt.Sprintf("it returned %s and %s for the path %s and the index %s",
				resource.NameOf(other), resource.NameOf(n), f.Path, f.Index))
		}
		taken[f] = n
	}
	return nil
}

func copies(items []*yaml.RNode) []*yaml.RNode {
	out := make([]*yaml.RNode, len(items))
	for i, n := range items {
		out[i] = n.Copy()
	}
	return out
}

// Partial returns the resources before the function that failed, if the package says that they are
// to be written; nil otherwise.
func (p *KptPackage) Partial() []*yaml.RNode { return p.partial }

// short names an image for a Step.
func short(image string) string {
	return image[strings.LastIndex(image, "/")+1:]
}
