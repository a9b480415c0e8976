package likeness

import (
	"fmt"
	"io"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
)

// function is a KRM function as a program. Its first argument says what it does. Both tools run it
// as ./fn in the target's directory.
func function(args []string, stdin io.Reader, stdout io.Writer) error {
	data, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"copy"}
	}
	if args[0] == "silent" {
		return nil
	}
	list, err := fnexec.Decode(data)
	if err != nil {
		return err
	}
	if err := act(list, args); err != nil {
		return err
	}
	out, err := list.Encode()
	if err != nil {
		return err
	}
	_, err = stdout.Write(out)
	return err
}

func act(list *fnexec.ResourceList, args []string) error {
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch args[0] {
	case "copy":
	case "rename": // rename FROM TO
		for _, n := range list.Items {
			if strings.HasSuffix(n.GetName(), arg(1)) {
				if err := n.SetName(strings.TrimSuffix(n.GetName(), arg(1)) + arg(2)); err != nil {
					return err
				}
			}
		}
	case "delete": // delete NAME
		var kept []*yaml.RNode
		for _, n := range list.Items {
			if !strings.HasSuffix(n.GetName(), arg(1)) {
				kept = append(kept, n)
			}
		}
		list.Items = kept
	case "twin": // twin NAME NEW: adds a copy under another name
		for _, n := range list.Items {
			if strings.HasSuffix(n.GetName(), arg(1)) {
				c := n.Copy()
				if err := c.SetName(arg(2)); err != nil {
					return err
				}
				list.Items = append(list.Items, c)
				break
			}
		}
	case "double": // double NAME: adds the same resource again
		for _, n := range list.Items {
			if strings.HasSuffix(n.GetName(), arg(1)) {
				list.Items = append(list.Items, n.Copy())
				break
			}
		}
	case "add", "generate": // add NAME KEY=VALUE…
		return add(list, arg(1), args[min(2, len(args)):])
	case "label": // label KEY VALUE
		for _, n := range list.Items {
			if err := n.PipeE(yaml.SetLabel(arg(1), arg(2))); err != nil {
				return err
			}
		}
	case "append": // append VALUE: appends to the annotation trace
		for _, n := range list.Items {
			trace := n.GetAnnotations()["trace"]
			if err := n.PipeE(yaml.SetAnnotation("trace", trace+arg(1))); err != nil {
				return err
			}
		}
	case "saw": // saw NAME: adds a ConfigMap with the annotations of buildMetadata on the input and on the config
		var all []string
		for _, n := range list.Items {
			if n.GetAnnotations()["config.kubernetes.io/local-config"] != "" {
				continue // kustomize passes a generator its own config
			}
			all = append(all, "data/"+n.GetName()+"="+n.GetAnnotations()["config.kubernetes.io/origin"]+
				n.GetAnnotations()["alpha.config.kubernetes.io/transformations"])
		}
		all = append(all, "data/config="+list.FunctionConfig.GetAnnotations()["config.kubernetes.io/origin"])
		return add(list, arg(1), all)
	case "name": // name: writes the functionConfig's name into an annotation
		for _, n := range list.Items {
			if err := n.PipeE(yaml.SetAnnotation("by", list.FunctionConfig.GetName())); err != nil {
				return err
			}
		}
	case "list": // list NAME: adds a list with one ConfigMap
		n, err := yaml.Parse("apiVersion: v1\nkind: ConfigMapList\nmetadata: {name: l}\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: " + arg(1) + "}\n")
		if err != nil {
			return err
		}
		list.Items = append(list.Items, n)
	case "reverse":
		for i, j := 0, len(list.Items)-1; i < j; i, j = i+1, j-1 {
			list.Items[i], list.Items[j] = list.Items[j], list.Items[i]
		}
	case "empty":
		list.Items = nil
	case "config": // config: writes spec.value of the functionConfig into an annotation
		v, err := list.FunctionConfig.GetString("spec.value")
		if err != nil {
			return err
		}
		for _, n := range list.Items {
			if err := n.PipeE(yaml.SetAnnotation("value", v)); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown behaviour %s", args[0])
	}
	return nil
}

// add appends a ConfigMap. An argument with a slash before the equals sign is an annotation.
func add(list *fnexec.ResourceList, name string, pairs []string) error {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
	notes, data := "", ""
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		if name, isData := strings.CutPrefix(k, "data/"); isData {
			data += fmt.Sprintf("  %s: %q\n", name, v)
		} else if strings.Contains(k, "/") {
			notes += fmt.Sprintf("    %s: %q\n", k, v)
		} else {
			data += fmt.Sprintf("  %s: %q\n", k, v)
		}
	}
	if notes != "" {
		text += "  annotations:\n" + notes
	}
	if data != "" {
		text += "data:\n" + data
	}
	n, err := yaml.Parse(text)
	if err != nil {
		return err
	}
	list.Items = append(list.Items, n)
	return nil
}

// runFunction is the main function of a process that was started as ./fn.
func runFunction() int {
	if err := function(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
