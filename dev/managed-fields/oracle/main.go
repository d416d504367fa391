// Command oracle asks Kubernetes' own field managers what becomes of an object and its owners.
//
// It reads cases as JSON lines, or makes random ones (-make N -seed S), and writes them back with the answer to every
// operation. It decides nothing itself: definitions go through the builder of OpenAPI documents that the API server uses for
// apply, operations through managedfields.NewDefaultCRDFieldManager. Nothing is defaulted afterwards.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	group = "g.io"
	kind  = "Thing"
)

// Definition is what a custom resource definition says that matters here.
type Definition struct {
	Versions map[string]json.RawMessage `json:"versions"`
	Status   bool                       `json:"status,omitempty"`
}

// Operation is one write.
type Operation struct {
	Definition  int            `json:"definition,omitempty"`
	Version     string         `json:"version"`
	Op          string         `json:"op"`
	Subresource string         `json:"subresource,omitempty"`
	Manager     string         `json:"manager"`
	Force       bool           `json:"force,omitempty"`
	Object      map[string]any `json:"object"`
	Answer      *Answer        `json:"answer,omitempty"`
}

// Answer is what upstream makes of a write.
type Answer struct {
	// The object after an apply, without its owners.
	Object  map[string]any `json:"object,omitempty"`
	Managed any            `json:"managed,omitempty"`
	Error   string         `json:"error,omitempty"`
	Causes  []string       `json:"causes,omitempty"`
	// Upstream says it in other words every time.
	Unsteady bool `json:"unsteady,omitempty"`
}

// Case is a history of one object.
type Case struct {
	Name        string       `json:"name"`
	Definitions []Definition `json:"definitions"`
	Operations  []*Operation `json:"operations"`
}

type nothing struct{}

func (nothing) Default(runtime.Object) {}

type convertor struct{}

func (convertor) Convert(in, out, context any) error { return errors.New("not supported") }

func (convertor) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (convertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	old := in.GetObjectKind().GroupVersionKind()
	gvk, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{old})
	if !ok {
		return nil, fmt.Errorf("no kind for %v", old)
	}
	out := in.DeepCopyObject().(*unstructured.Unstructured)
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: gvk.Version, Kind: old.Kind})
	return out, nil
}

type creater struct{}

func (creater) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(gvk)
	return object, nil
}

func definitionOf(d Definition) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "things." + group
	crd.Spec.Group = group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: kind, ListKind: "ThingList"}
	crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	for _, name := range []string{"v1", "v2"} {
		raw, ok := d.Versions[name]
		if !ok {
			continue
		}
		var props apiextensionsv1.JSONSchemaProps
		if err := json.Unmarshal(raw, &props); err != nil {
			return nil, err
		}
		version := apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: name == "v1",
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &props},
		}
		if d.Status {
			version.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
		}
		crd.Spec.Versions = append(crd.Spec.Versions, version)
	}
	return crd, nil
}

type managers struct {
	definition Definition
	converter  managedfields.TypeConverter
	byScope    map[string]*managedfields.FieldManager
}

func managersOf(d Definition) (*managers, error) {
	crd, err := definitionOf(d)
	if err != nil {
		return nil, err
	}
	models := map[string]*spec.Schema{}
	for _, version := range crd.Spec.Versions {
		internal := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, internal, nil); err != nil {
			return nil, err
		}
		structural, err := structuralschema.NewStructural(internal)
		if err != nil {
			return nil, err
		}
		// An API server does not serve other schemas.
		if faults := structuralschema.ValidateStructural(nil, structural); len(faults) > 0 {
			return nil, faults.ToAggregate()
		}
		document, err := builder.BuildOpenAPIV3(crd, version.Name, builder.Options{})
		if err != nil {
			return nil, err
		}
		for name, model := range document.Components.Schemas {
			models[name] = model
		}
	}
	converter, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		return nil, err
	}
	return &managers{definition: d, converter: converter, byScope: map[string]*managedfields.FieldManager{}}, nil
}

func (m *managers) of(version, subresource string) (*managedfields.FieldManager, error) {
	key := version + "/" + subresource
	if found := m.byScope[key]; found != nil {
		return found, nil
	}
	reset := map[fieldpath.APIVersion]*fieldpath.Set{}
	switch {
	case subresource == "status":
		for name := range m.definition.Versions {
			reset[fieldpath.APIVersion(group+"/"+name)] = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
		}
	case m.definition.Status:
		reset[fieldpath.APIVersion(group+"/"+version)] = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	}
	gvk := schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
	made, err := managedfields.NewDefaultCRDFieldManager(m.converter, convertor{}, nothing{}, creater{}, gvk, gvk.GroupVersion(), subresource, fieldpath.NewExcludeFilterSetMap(reset))
	if err != nil {
		return nil, err
	}
	m.byScope[key] = made
	return made, nil
}

// answer does one operation on an object, which is nil as long as there is none.
func answer(m *managers, live *unstructured.Unstructured, op *Operation, position int) (*unstructured.Unstructured, error) {
	manager, err := m.of(op.Version, op.Subresource)
	if err != nil {
		return nil, err
	}
	gvk := schema.GroupVersionKind{Group: group, Version: op.Version, Kind: kind}
	if live == nil {
		object, _ := creater{}.New(gvk)
		live = object.(*unstructured.Unstructured)
	} else {
		converted, err := convertor{}.ConvertToVersion(live, gvk.GroupVersion())
		if err != nil {
			return nil, err
		}
		live = converted.(*unstructured.Unstructured)
	}
	given := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(op.Object)}
	var out runtime.Object
	if op.Op == "apply" {
		out, err = manager.Apply(live, given, op.Manager, op.Force)
	} else {
		out = manager.UpdateNoErrors(live, given, op.Manager)
	}
	op.Answer = &Answer{}
	if err != nil {
		op.Answer.Error = err.Error()
		var status apierrors.APIStatus
		if errors.As(err, &status) && status.Status().Details != nil {
			for _, cause := range status.Status().Details.Causes {
				op.Answer.Causes = append(op.Answer.Causes, cause.Field+": "+cause.Message)
			}
		}
		sort.Strings(op.Answer.Causes)
		return nil, nil
	}
	after := out.(*unstructured.Unstructured)
	// As the server does before it stores.
	_ = unstructured.SetNestedField(after.Object, "uid-1", "metadata", "uid")
	list, found, _ := unstructured.NestedSlice(after.Object, "metadata", "managedFields")
	if found {
		for _, entry := range list {
			entry := entry.(map[string]any)
			if time, ok := entry["time"].(string); ok && time[:4] != "2001" {
				entry["time"] = timeOf(position)
			}
		}
		unstructured.SetNestedSlice(after.Object, list, "metadata", "managedFields")
		op.Answer.Managed = list
	}
	if op.Op == "apply" {
		bare := runtime.DeepCopyJSON(after.Object)
		unstructured.RemoveNestedField(bare, "metadata", "managedFields")
		op.Answer.Object = bare
	}
	return after, nil
}

func timeOf(position int) string {
	return fmt.Sprintf("2001-01-01T00:%02d:%02dZ", position/60, position%60)
}

// history plays a case; next makes a further operation, or nothing at its end.
func history(c *Case, next func(live *unstructured.Unstructured, position int) *Operation) error {
	all := make([]*managers, 0, len(c.Definitions))
	for _, definition := range c.Definitions {
		made, err := managersOf(definition)
		if err != nil {
			return err
		}
		all = append(all, made)
	}
	var live *unstructured.Unstructured
	for position := 0; ; position++ {
		op := next(live, position)
		if op == nil {
			return nil
		}
		after, err := answer(all[op.Definition], live, op, position)
		if err != nil {
			return err
		}
		first := op.Answer
		// Maps are walked in no order.
		for range 1 + 15*min(len(first.Error), 1) {
			if _, err := answer(all[op.Definition], live, op, position); err != nil {
				return err
			}
			if !reflect.DeepEqual(first, op.Answer) {
				if first.Error == "" {
					return errors.New("another answer every time")
				}
				first.Unsteady = true
			}
			op.Answer = first
		}
		if after != nil {
			live = after
		}
	}
}

func main() {
	count := flag.Int("make", 0, "make so many cases instead of reading them")
	seed := flag.Int64("seed", 1, "of the first case")
	size := flag.Int("size", 8, "most operations of a case")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	fail := func(name string, err error) {
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		}
	}
	if *count > 0 {
		for at := int64(0); at < int64(*count); at++ {
			maker := &maker{Rand: rand.New(rand.NewSource(*seed + at))}
			c := maker.begin(fmt.Sprintf("seed-%d", *seed+at))
			limit := 1 + maker.Intn(*size)
			err := history(c, func(live *unstructured.Unstructured, position int) *Operation {
				if position >= limit {
					return nil
				}
				op := maker.operation(c, live)
				c.Operations = append(c.Operations, op)
				return op
			})
			fail(c.Name, err)
			if err == nil {
				fail(c.Name, encoder.Encode(c))
			}
		}
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		c := &Case{}
		// Whole numbers stay whole, as in the server.
		if err := decode(lines.Bytes(), c); err != nil {
			fail("input", err)
			continue
		}
		err := history(c, func(_ *unstructured.Unstructured, position int) *Operation {
			if position >= len(c.Operations) {
				return nil
			}
			return c.Operations[position]
		})
		fail(c.Name, err)
		if err == nil {
			fail(c.Name, encoder.Encode(c))
		}
	}
}
