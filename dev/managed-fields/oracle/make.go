package main

// Random definitions, objects and writes. Small domains, so that managers meet.

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func decode(line []byte, c *Case) error { return utiljson.Unmarshal(line, c) }

type maker struct {
	*rand.Rand
	schemas []map[string]any
}

type node = map[string]any

func (m *maker) one(of ...string) string { return of[m.Intn(len(of))] }

func (m *maker) chance(percent int) bool { return m.Intn(100) < percent }

func (m *maker) scalar() node {
	switch m.Intn(6) {
	case 0:
		return node{"type": "integer"}
	case 1:
		return node{"type": "boolean"}
	case 2:
		return node{"x-kubernetes-int-or-string": true}
	case 3:
		return node{"type": "number"}
	default:
		return node{"type": "string"}
	}
}

func (m *maker) schema(depth int) node {
	if depth <= 0 {
		return m.scalar()
	}
	switch m.Intn(12) {
	case 0, 1:
		return m.scalar()
	case 2, 3:
		return m.object(depth)
	case 4:
		return m.mapOf(depth)
	case 5:
		list := node{"type": "array", "items": m.schema(depth - 1)}
		if m.chance(30) {
			list["x-kubernetes-list-type"] = "atomic"
		}
		return list
	case 6, 7:
		items := m.scalar()
		if m.chance(10) {
			items = m.object(1)
			items["x-kubernetes-map-type"] = "atomic"
		}
		return node{"type": "array", "items": items, "x-kubernetes-list-type": "set"}
	case 8, 9:
		return m.keyed(depth)
	case 10:
		open := node{"x-kubernetes-preserve-unknown-fields": true}
		if m.chance(60) {
			open["type"] = "object"
			if m.chance(40) {
				open["properties"] = node{"a": m.schema(depth - 1)}
			}
			if m.chance(30) {
				open["x-kubernetes-map-type"] = m.one("atomic", "granular")
			}
		}
		return open
	default:
		embedded := node{"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}
		if m.chance(40) {
			delete(embedded, "x-kubernetes-preserve-unknown-fields")
			embedded["properties"] = node{"k": m.schema(depth - 1)}
		}
		return embedded
	}
}

func (m *maker) object(depth int) node {
	properties := node{}
	for _, name := range []string{"a", "b", "c"} {
		if m.chance(60) {
			properties[name] = m.schema(depth - 1)
		}
	}
	object := node{"type": "object", "properties": properties}
	if m.chance(15) {
		object["x-kubernetes-map-type"] = m.one("atomic", "granular")
	}
	if m.chance(8) {
		object["x-kubernetes-preserve-unknown-fields"] = true
	}
	if m.chance(10) {
		object["nullable"] = true
	}
	return object
}

func (m *maker) mapOf(depth int) node {
	object := node{"type": "object", "additionalProperties": m.schema(depth - 1)}
	if m.chance(20) {
		object["x-kubernetes-map-type"] = m.one("atomic", "granular")
	}
	return object
}

func (m *maker) keyed(depth int) node {
	item := m.object(depth)
	properties := item["properties"].(node)
	delete(item, "x-kubernetes-map-type")
	if m.chance(10) {
		item["x-kubernetes-map-type"] = "atomic"
	}
	keys := []any{"k"}
	properties["k"] = node{"type": m.one("integer", "string", "string", "boolean")}
	if m.chance(40) {
		keys = append(keys, "d")
		if m.chance(30) {
			keys = []any{"d", "k"}
		}
		properties["d"] = node{"type": "string", "default": m.one("TCP", "x")}
		if m.chance(20) {
			properties["d"] = node{"type": "integer", "default": int64(m.Intn(2))}
		}
		if m.chance(20) {
			delete(properties["d"].(node), "default")
		}
	}
	return node{"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
}

// twisted switches topologies and types here and there.
func (m *maker) twisted(schema node) node {
	schema = runtime.DeepCopyJSON(schema)
	var walk func(node)
	walk = func(at node) {
		if at["type"] == "array" && m.chance(35) {
			switch at["x-kubernetes-list-type"] {
			case "set", "map":
				delete(at, "x-kubernetes-list-map-keys")
				at["x-kubernetes-list-type"] = "atomic"
			default:
				if items, _ := at["items"].(node); items["type"] == "string" || items["type"] == "integer" {
					at["x-kubernetes-list-type"] = "set"
				}
			}
		}
		if at["type"] == "object" && m.chance(20) {
			if at["x-kubernetes-map-type"] == "atomic" {
				delete(at, "x-kubernetes-map-type")
			} else if at["x-kubernetes-embedded-resource"] == nil {
				at["x-kubernetes-map-type"] = "atomic"
			}
		}
		if properties, ok := at["properties"].(node); ok {
			for _, name := range sorted(properties) {
				if m.chance(6) && name != "k" && name != "d" {
					delete(properties, name)
					continue
				}
				walk(properties[name].(node))
			}
		}
		for _, name := range []string{"items", "additionalProperties"} {
			if below, ok := at[name].(node); ok {
				walk(below)
			}
		}
	}
	properties := schema["properties"].(node)
	for _, name := range sorted(properties) {
		walk(properties[name].(node))
	}
	return schema
}

func sorted(members node) []string { return slices.Sorted(maps.Keys(members)) }

func (m *maker) begin(name string) *Case {
	root := node{"type": "object", "properties": node{"spec": m.object(3), "status": m.object(2)}}
	if m.chance(15) {
		root["properties"].(node)["other"] = m.schema(2)
	}
	c := &Case{Name: name}
	status := m.chance(40)
	add := func(versions map[string]node) {
		raw := map[string]json.RawMessage{}
		for name, schema := range versions {
			raw[name], _ = json.Marshal(schema)
		}
		c.Definitions = append(c.Definitions, Definition{Versions: raw, Status: status})
		m.schemas = append(m.schemas, versions["v1"])
	}
	versions := map[string]node{"v1": root}
	if m.chance(40) {
		versions["v2"] = root
		if m.chance(60) {
			versions["v2"] = m.twisted(root)
		}
	}
	add(versions)
	if m.chance(30) {
		later := map[string]node{"v1": m.twisted(root)}
		if old, ok := versions["v2"]; ok && m.chance(70) {
			later["v2"] = m.twisted(old)
		}
		add(later)
	}
	return c
}

func (m *maker) text() any { return m.one("x", "y", "z", "") }

func (m *maker) any(depth int) any {
	switch m.Intn(8) {
	case 0:
		return nil
	case 1:
		return int64(m.Intn(3))
	case 2:
		return m.chance(50)
	case 3, 4:
		list := []any{}
		for range m.Intn(3) {
			list = append(list, m.any(depth-1))
		}
		return list
	case 5, 6:
		if depth > 0 {
			object := node{}
			for _, name := range []string{"a", "b", "q"} {
				if m.chance(40) {
					object[name] = m.any(depth - 1)
				}
			}
			return object
		}
	}
	return m.text()
}

// value makes a value of a schema; strange says how often it does not fit.
func (m *maker) value(schema node, strange int) any {
	if m.chance(strange) {
		return m.any(1)
	}
	if m.chance(4) {
		return nil
	}
	if schema["x-kubernetes-int-or-string"] == true {
		if m.chance(50) {
			return int64(m.Intn(3))
		}
		return m.text()
	}
	switch schema["type"] {
	case "integer":
		return int64(m.Intn(3))
	case "number":
		if m.chance(50) {
			return int64(m.Intn(3))
		}
		return []float64{0, 1, 1.5, 2}[m.Intn(4)]
	case "boolean":
		return m.chance(50)
	case "string":
		return m.text()
	case "array":
		items, _ := schema["items"].(node)
		count := m.Intn(4)
		list := make([]any, 0, count)
		for range count {
			list = append(list, m.value(items, strange/2))
		}
		if schema["x-kubernetes-list-type"] != nil && m.chance(75) {
			list = distinct(list, schema)
		}
		return list
	case "object":
		return m.members(schema, strange)
	}
	return m.any(2)
}

func distinct(list []any, schema node) []any {
	seen := map[string]bool{}
	kept := []any{}
	keys, _ := schema["x-kubernetes-list-map-keys"].([]any)
	for _, item := range list {
		mark := fmt.Sprintf("%v", item)
		if object, ok := item.(node); ok && len(keys) > 0 {
			mark = ""
			for _, key := range keys {
				mark += fmt.Sprintf("%v|", object[key.(string)])
			}
		}
		if !seen[mark] && item != nil {
			seen[mark] = true
			kept = append(kept, item)
		}
	}
	return kept
}

func (m *maker) members(schema node, strange int) node {
	object := node{}
	properties, _ := schema["properties"].(node)
	for _, name := range sorted(properties) {
		often := 55
		if name == "k" {
			often = 95
		}
		if m.chance(often) {
			object[name] = m.value(properties[name].(node), strange)
		}
	}
	if others, ok := schema["additionalProperties"].(node); ok {
		for _, name := range []string{"a", "b", "q"} {
			if m.chance(40) {
				object[name] = m.value(others, strange)
			}
		}
	}
	if schema["x-kubernetes-preserve-unknown-fields"] == true || m.chance(strange/2) {
		for _, name := range []string{"p", "q"} {
			if m.chance(40) {
				object[name] = m.any(2)
			}
		}
	}
	if schema["x-kubernetes-embedded-resource"] == true {
		if m.chance(60) {
			object["apiVersion"], object["kind"] = "v1", m.one("A", "B")
		}
		if m.chance(50) {
			object["metadata"] = node{"name": m.one("m", "n"), "labels": node{m.one("l", "m"): m.one("x", "y")}}
		}
	}
	return object
}

func (m *maker) metadata() node {
	metadata := node{"name": "thing", "namespace": "default"}
	if m.chance(25) {
		labels := node{}
		for range m.Intn(3) {
			labels[m.one("l", "m", "n/o")] = m.one("x", "y")
		}
		metadata["labels"] = labels
	}
	if m.chance(15) {
		metadata["finalizers"] = distinct([]any{m.one("f/a", "f/b"), m.one("f/b", "f/c")}, nil)
	}
	if m.chance(10) {
		metadata["ownerReferences"] = []any{node{"apiVersion": "v1", "kind": "A", "name": m.one("x", "y"), "uid": m.one("1", "2")}}
	}
	if m.chance(10) {
		metadata["annotations"] = node{m.one("p", "q"): m.one("x", "y")}
	}
	return metadata
}

// changed changes a few things of a value, whatever its schema.
func (m *maker) changed(value any, percent int) any {
	switch value := value.(type) {
	case node:
		for _, name := range sorted(value) {
			if m.chance(percent) {
				delete(value, name)
			} else {
				value[name] = m.changed(value[name], percent)
			}
		}
		return value
	case []any:
		kept := []any{}
		for _, item := range value {
			if !m.chance(percent) {
				kept = append(kept, m.changed(item, percent))
			}
		}
		if len(kept) > 1 && m.chance(20) {
			m.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
		}
		return kept
	case string:
		if m.chance(percent / 2) {
			return m.text()
		}
	case int64:
		if m.chance(percent / 2) {
			return int64(m.Intn(3))
		}
	}
	return value
}

func (m *maker) operation(c *Case, live *unstructured.Unstructured) *Operation {
	op := &Operation{Version: "v1", Op: "apply", Manager: m.one("a", "b", "c")}
	if len(c.Definitions) > 1 && live != nil && (len(c.Operations) > 2 || m.chance(30)) {
		op.Definition = 1
	}
	definition := c.Definitions[op.Definition]
	if _, ok := definition.Versions["v2"]; ok && m.chance(45) {
		op.Version = "v2"
	}
	if m.chance(10) {
		op.Manager = "kubectl"
	}
	switch m.Intn(10) {
	case 0, 1, 2:
		op.Op = "update"
	case 3, 4, 5:
		op.Force = true
	}
	if op.Op == "update" && m.chance(25) {
		op.Manager = fmt.Sprintf("u%d", m.Intn(14))
	}
	if live != nil && definition.Status && m.chance(30) {
		op.Subresource = "status"
	}
	schema := node{}
	_ = utiljson.Unmarshal(definition.Versions[op.Version], &schema)
	strange := 0
	if m.chance(12) {
		strange = 12
	}
	object := node{}
	fresh := m.members(schema, strange)
	fromLive := live != nil && m.chance(map[bool]int{true: 30, false: 80}[op.Op == "apply"])
	if fromLive {
		object = runtime.DeepCopyJSON(live.Object)
		metadata := object["metadata"]
		delete(object, "metadata")
		object = m.changed(object, 15).(node)
		if m.chance(40) {
			for _, name := range sorted(fresh) {
				if m.chance(50) {
					object[name] = fresh[name]
				}
			}
		}
		object["metadata"] = metadata
		unstructured.RemoveNestedField(object, "metadata", "managedFields")
		if op.Op == "apply" {
			unstructured.RemoveNestedField(object, "metadata", "uid")
		}
	} else {
		object = fresh
		object["metadata"] = m.metadata()
	}
	object["apiVersion"], object["kind"] = group+"/"+op.Version, kind
	if op.Op == "update" {
		m.listed(op, live, object)
	} else if m.chance(1) {
		object["kind"] = "Other"
	}
	if op.Manager == "kubectl" || m.chance(3) {
		m.remember(op, object)
	}
	op.Object = object
	return op
}

// listed gives an update an opinion on the list of owners.
func (m *maker) listed(op *Operation, live *unstructured.Unstructured, object node) {
	if live == nil {
		return
	}
	metadata := object["metadata"].(node)
	list, found, _ := unstructured.NestedSlice(live.Object, "metadata", "managedFields")
	switch m.Intn(20) {
	case 0:
		metadata["managedFields"] = []any{}
	case 1:
		metadata["managedFields"] = []any{node{}}
	case 2:
		if found && len(list) > 1 {
			metadata["managedFields"] = list[1:]
		}
	case 3, 4, 5:
		if found {
			metadata["managedFields"] = list
		}
	}
	_ = op
}

// remember writes down what client-side apply would have applied last.
func (m *maker) remember(op *Operation, object node) {
	last := runtime.DeepCopyJSON(object)
	unstructured.RemoveNestedField(last, "metadata", "annotations")
	unstructured.RemoveNestedField(last, "metadata", "managedFields")
	unstructured.RemoveNestedField(last, "metadata", "uid")
	if m.chance(30) {
		last = m.changed(last, 8).(node)
	}
	text, _ := json.Marshal(last)
	said := string(text)
	if m.chance(10) {
		said = m.one("", "{", "{}", `{"apiVersion":"g.io/v1"}`)
	}
	if op.Op == "update" || m.chance(30) {
		_ = unstructured.SetNestedField(object, said, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	}
}
