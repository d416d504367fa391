// Command oracle asks Kubernetes' own code what it thinks of schemas of custom resources, and of objects under them.
//
// It reads cases as JSON lines, or makes random ones (-make N -seed S), and writes them back with answers: faults of the
// definition, and for each object what is pruned, what it looks like with its defaults, and its faults. It decides nothing itself.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// Fault is one field error: field, reason, message.
type Fault [3]string

// Object is one value and what becomes of it.
type Object struct {
	New      map[string]any `json:"new"`
	Old      map[string]any `json:"old,omitempty"`
	Removed  []string       `json:"removed,omitempty"`
	Stored   map[string]any `json:"stored,omitempty"`
	Faults   []Fault        `json:"faults,omitempty"`
	Unsteady bool           `json:"unsteady,omitempty"`
}

// Case is one schema and objects.
type Case struct {
	Name     string         `json:"name"`
	Schema   map[string]any `json:"schema"`
	Faults   []Fault        `json:"faults,omitempty"`
	Unsteady bool           `json:"unsteady,omitempty"`
	Objects  []*Object      `json:"objects,omitempty"`
}

func faults(all field.ErrorList) []Fault {
	out := make([]Fault, 0, len(all))
	for _, one := range all {
		out = append(out, Fault{one.Field, string(one.Type), one.ErrorBody()})
	}
	sort.Slice(out, func(i, j int) bool { return fmt.Sprint(out[i]) < fmt.Sprint(out[j]) })
	if len(out) == 0 {
		return nil
	}
	return out
}

func definition(props *apiextensionsv1.JSONSchemaProps) (*apiextensions.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "things.g.io"
	crd.Spec.Group = "g.io"
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList"}
	crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props},
	}}
	crd.Status.StoredVersions = []string{"v1"}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	internal := &apiextensions.CustomResourceDefinition{}
	return internal, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil)
}

// judge answers for the schema and returns how to answer for objects, or nothing if no object can be.
func judge(c *Case) (func(*Object), error) {
	raw, err := json.Marshal(c.Schema)
	if err != nil {
		return nil, err
	}
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(raw, props); err != nil {
		return nil, err
	}
	ctx := context.Background()
	for range 3 {
		crd, err := definition(props.DeepCopy())
		if err != nil {
			return nil, err
		}
		found := faults(definitions.ValidateCustomResourceDefinition(ctx, crd))
		c.Unsteady = c.Unsteady || (c.Faults != nil && !reflect.DeepEqual(found, c.Faults))
		c.Faults = found
	}
	for _, fault := range c.Faults {
		if !strings.Contains(fault[2], "cost") {
			return nil, nil
		}
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	if err := defaulting.PruneDefaults(structural); err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	return func(o *Object) { answer(ctx, o, structural, validator, rules) }, nil
}

func answer(ctx context.Context, o *Object, structural *structuralschema.Structural, validator validation.SchemaValidator, rules *cel.Validator) {
	object := runtime.DeepCopyJSON(o.New)
	o.Removed = pruning.PruneWithOptions(object, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	sort.Strings(o.Removed)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, structural)
	defaulting.Default(object, structural)
	o.Stored = object
	var all field.ErrorList
	var options []validation.ValidationOption
	var ruleOptions []cel.Option
	if o.Old != nil {
		correlated := common.NewCorrelatedObject(object, o.Old, &model.Structural{Structural: structural})
		options = append(options, validation.WithRatcheting(correlated))
		ruleOptions = append(ruleOptions, cel.WithRatcheting(correlated))
		all = append(all, validation.ValidateCustomResourceUpdate(nil, object, o.Old, validator, options...)...)
	} else {
		all = append(all, validation.ValidateCustomResource(nil, object, validator)...)
	}
	all = append(all, schemaobjectmeta.Validate(nil, object, structural, false)...)
	lists := listtype.ValidateListSetsAndMaps(nil, structural, object)
	if o.Old == nil || len(listtype.ValidateListSetsAndMaps(nil, structural, o.Old)) == 0 {
		all = append(all, lists...)
	}
	blocked := false
	for _, one := range all {
		switch one.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			blocked = true
		}
	}
	if rules != nil && blocked {
		all = append(all, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
	}
	if rules != nil && !blocked {
		var old any
		if o.Old != nil {
			old = o.Old
		}
		found, _ := rules.Validate(ctx, nil, structural, object, old, celconfig.RuntimeCELCostBudget, ruleOptions...)
		for _, one := range found {
			if one.Type != field.ErrorTypeInternal || !strings.Contains(one.Detail, "atchet") {
				all = append(all, one)
			}
		}
	}
	o.Faults = faults(all)
}

func main() {
	count := flag.Int("make", 0, "make so many cases instead of reading them")
	seed := flag.Int64("seed", 1, "of the first case")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	say := func(c *Case, objects func() []*Object) {
		each, err := judge(c)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err)
			return
		}
		if each != nil {
			c.Objects = objects()
			for _, o := range c.Objects {
				each(o)
				for range 2 {
					first := o.Faults
					each(o)
					o.Unsteady = o.Unsteady || !reflect.DeepEqual(first, o.Faults)
				}
			}
		}
		_ = encoder.Encode(c)
	}
	for at := int64(0); at < int64(*count); at++ {
		m := &maker{Rand: rand.New(rand.NewSource(*seed + at))}
		c := &Case{Name: fmt.Sprintf("seed-%d", *seed+at), Schema: m.root()}
		say(c, func() []*Object { return m.objects(c.Schema) })
	}
	if *count > 0 {
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		c := &Case{}
		if err := utiljson.Unmarshal(lines.Bytes(), c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		objects := c.Objects
		c.Faults, c.Objects = nil, nil
		say(c, func() []*Object { return objects })
	}
}
