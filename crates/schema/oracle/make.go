package main

// Random schemas with values that nearly fit them.

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

type maker struct {
	*rand.Rand
	// Whether definitions may be wrong in all ways.
	odd bool
}

type node = map[string]any

func (m *maker) one(of ...string) string { return of[m.Intn(len(of))] }

func (m *maker) chance(percent int) bool { return m.Intn(100) < percent }

func sorted(members node) []string { return slices.Sorted(maps.Keys(members)) }

var texts = []string{"", "a", "ab", "abc", "Abc", "x-y", "a.b", "10", "1.5", "10.0.0.1", "10.0.0.0/8", "fe80::1", "::ffff:1.2.3.4", "010.0.0.1", "http://a.b/c?d=e#f", "a@b.c",
	"2026-01-02", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123+01:00", "1h30m", "100Mi", "1k", "1e3", "-5", "1.2.3", "v1.2.3", "1.2.3-rc.1+b", "äöü", "日本", "a b", "aGVsbG8=", "true",
	"550e8400-e29b-41d4-a716-446655440000", "a/b", "*.a.b", "[a-", "\t", "\"q\"", "1.0", "0x1F", "1n", "5 ", "1Ei", "/x", "mailto:a@b.c", "http://[::1]:80/", "%zz", "http://u:p@h:1/p"}

func (m *maker) text() string { return texts[m.Intn(len(texts))] }

var formats = []string{"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "isbn", "isbn10", "isbn13", "creditcard", "ssn",
	"hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime", "date-time", "k8s-short-name", "k8s-long-name", "unheard"}

func (m *maker) rulesFor(kind string) []string {
	text := func() string { return fmt.Sprintf("%q", m.text()) }
	switch kind {
	case "string":
		return []string{"self.size() < 3", "self.startsWith('a')", "self.matches('^[a-z]+$')", "self != " + text(), "self.contains('b')", "self.lowerAscii() == self",
			"isIP(self)", "isCIDR(self)", "isURL(self)", "isQuantity(self)", "isSemver(self)", "isSemver(self, true)", "ip(self).family() == 4", "ip(self).isLoopback()", "ip.isCanonical(self)",
			"cidr(self).prefixLength() == 8", "cidr(self).containsIP('10.1.2.3')", "cidr(self).masked() == cidr(self)", "string(cidr(self).ip()) == '10.0.0.0'", "url(self).getScheme() == 'http'", "url(self).getHost() == 'a.b'",
			"url(self).getEscapedPath() == '/c'", "url(self).getPort() == '80'", "url(self).getQuery() == {'d': ['e']}", "url(self).getHostname() == '::1'",
			"quantity(self).isInteger()", "quantity(self).asInteger() > 5", "quantity(self).asApproximateFloat() > 5.0", "quantity(self).sign() == 1", "quantity(self).compareTo(quantity('1k')) == 0", "quantity(self).add(1) == quantity('1001')", "quantity(self).isLessThan(quantity('1Mi'))",
			"semver(self).major() == 1", "semver(self).isLessThan(semver('1.2.4'))", "semver(self, true).minor() == 2", "format.dns1123Label().validate(self).hasValue()", "!format.named('uuid').value().validate(self).hasValue()", "format.dns1123Subdomain().validate(self).orValue([]).size() == 0",
			"format.uri().validate(self) == optional.none()", "format.qualifiedName().validate(self).orValue([]) == []", "format.labelValue().validate(self).orValue([]) == []", "format.date().validate(self).orValue([]).size() == 0", "format.datetime().validate(self).orValue([]).size() == 0", "format.byte().validate(self).orValue([]).size() == 0", "format.uuid().validate(self).orValue([]).size() == 0",
			"self.find('[0-9]+') != ''", "self.findAll('[a-z]').size() > 1", "self.split('.').size() == 2", "self.replace('a', 'b') == self", "self.charAt(0) == 'a'", "self.indexOf('b') == 1", "self.substring(1) == 'b'", "self.trim() == self", "self.upperAscii() != 'ABC'", "int(self) > 3", "double(self) > 1.0", "duration(self) > duration('1h')", "timestamp(self).getFullYear() == 2026", "bytes(self).size() == size(self)", "self in ['a', 'b']", "'%s|%d|%.2f'.format([self, 3, 1.5]) == 'a|3|1.50'", "self.reverse() == self", "base64.decode(self) == b'hello'"}
	case "integer", "number":
		return []string{"self > 0", "self >= 0 && self < 5", "self != 2", "10 / self > 3", "self * 2 == self + self", "self % 2 == 0", "string(self) == '1'", "self in [0, 1, 2]", "dyn(self) == 1.0", "double(self) < 1.5", "math.greatest(self, 1) == self", "sign(self) == 1", "self <= 9223372036854775807"}
	case "boolean":
		return []string{"self", "!self", "self == true", "string(self) == 'true'"}
	case "array":
		return []string{"self.size() < 2", "self.all(x, x == x)", "self.isSorted()", "self.exists(x, x == self[0])", "self.map(x, x).size() == size(self)", "self[0] == self[0]", "self.exists_one(x, x == self[0])", "self.filter(x, true) == self", "self.indexOf(self[0]) == 0", "sets.contains(self, [])", "self.all(i, x, i < 2)"}
	case "map":
		return []string{"self.all(k, k != 'a')", "size(self) < 2", "'a' in self", "has(self.a)", "self.exists(k, self[k] == self[k])", "self == self"}
	default:
		return []string{"has(self.a)", "!has(self.a) || !has(self.b)", "self.a == self.a", "has(self.a) ? self.a == self.a : true", "self.b != self.c", "self == oldSelf", "!has(oldSelf.a) || has(self.a)", "self.?a.hasValue()", "self.?a.orValue(1) == 1", "self.unknown", "self.a >", "size(self.c) > 1", "type(self.a) == string", "self.a == oldSelf.a", "self.d.size() < 2", "self.e.size() > 0"}
	}
}

func (m *maker) rules(schema node, kind string) {
	if !m.chance(35) {
		return
	}
	if !m.odd {
		m.plainRules(schema, kind)
		return
	}
	var list []any
	for range 1 + m.Intn(2) {
		pool := m.rulesFor(kind)
		rule := node{"rule": pool[m.Intn(len(pool))]}
		if m.chance(30) {
			rule["message"] = m.one("no", "must be so", "  ", "a\nb", strings.Repeat("x", 20))
		}
		if m.chance(15) {
			rule["messageExpression"] = m.one("'it is ' + string(self)", "'no'", "1", "''", "self.a", "'a' + ")
		}
		if m.chance(15) {
			rule["reason"] = m.one("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "Odd")
		}
		if m.chance(10) {
			rule["fieldPath"] = m.one(".a", ".b", ".zz", "a", ".a.b", "['a']")
		}
		if m.chance(10) {
			rule["optionalOldSelf"] = m.chance(70)
		}
		list = append(list, rule)
	}
	schema["x-kubernetes-validations"] = list
}

// plainRules makes rules that compile, mostly.
func (m *maker) plainRules(schema node, kind string) {
	pool := m.rulesFor(kind)
	if kind == "object" {
		properties := schema["properties"].(node)
		pool = []string{"self == self"}
		for _, name := range sorted(properties) {
			pool = append(pool, fmt.Sprintf("has(self.%s)", name), fmt.Sprintf("!has(self.%s)", name), fmt.Sprintf("self.%s == self.%s", name, name),
				fmt.Sprintf("!has(oldSelf.%s) || has(self.%s)", name, name), fmt.Sprintf("self.?%s.hasValue()", name), fmt.Sprintf("!has(self.%s) || self.%s == self.%s", name, name, name))
		}
		pool = append(pool, "self == oldSelf")
	}
	rule := node{"rule": pool[m.Intn(len(pool))]}
	if m.chance(30) {
		rule["message"] = m.one("no", "must be so", " spaced ")
	}
	if m.chance(20) {
		rule["messageExpression"] = m.one("'it is so'", "'no'", "''", "' '", "'a\\nb'", "'n' + string(size('abc'))", "string(1/0)")
	}
	if m.chance(15) {
		rule["reason"] = m.one("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
	}
	schema["x-kubernetes-validations"] = []any{rule}
}

func (m *maker) scalar() node {
	switch m.Intn(8) {
	case 0, 1:
		s := node{"type": m.one("integer", "integer", "number")}
		if m.chance(40) {
			s["minimum"] = int64(m.Intn(3))
			if m.chance(30) {
				s["exclusiveMinimum"] = true
			}
		}
		if m.chance(40) {
			s["maximum"] = int64(m.Intn(4))
			if m.chance(30) {
				s["exclusiveMaximum"] = true
			}
		}
		if m.chance(15) {
			s["multipleOf"] = []any{int64(2), 0.5, int64(3), 0.1}[m.Intn(4)]
		}
		if m.chance(15) {
			s["format"] = m.one("int32", "int64", "float", "double")
		}
		if m.chance(10) {
			s["enum"] = []any{int64(1), int64(2)}
		}
		m.rules(s, s["type"].(string))
		return s
	case 2:
		s := node{"type": "boolean"}
		m.rules(s, "boolean")
		return s
	case 3:
		s := node{"x-kubernetes-int-or-string": true}
		if m.chance(40) {
			s["anyOf"] = []any{node{"type": "integer"}, node{"type": "string"}}
		}
		if m.chance(30) {
			s["pattern"] = "^[0-9]+%?$"
		}
		if m.chance(20) {
			s["maximum"] = int64(5)
		}
		return s
	default:
		s := node{"type": "string"}
		if m.chance(80) {
			s["maxLength"] = int64([]int{1, 3, 10, 100}[m.Intn(4)])
		}
		if m.chance(20) {
			s["minLength"] = int64(m.Intn(3))
		}
		if m.chance(15) {
			s["pattern"] = m.one("^a", "[0-9]+", "^$", "^(a|b)*$", `\d`, "[a-", "^[^/]+$", "(?i)abc")
			if !m.odd && s["pattern"] == "[a-" {
				delete(s, "pattern")
			}
		}
		if m.chance(25) {
			s["format"] = formats[m.Intn(len(formats))]
		}
		if m.chance(15) {
			s["enum"] = []any{"a", m.text()}
		}
		m.rules(s, "string")
		return s
	}
}

func (m *maker) schema(depth int) node {
	s := m.bare(depth)
	if m.chance(10) {
		s["nullable"] = true
	}
	if m.chance(18) {
		s["default"] = m.value(s, map[bool]int{true: 20}[m.odd])
	}
	if m.chance(8) && s["type"] != nil {
		m.junctors(s)
	}
	if m.odd && m.chance(6) {
		switch m.Intn(7) {
		case 0:
			delete(s, "type")
		case 1:
			s["type"] = m.one("null", "any", "", "integer", "object", "array")
		case 2:
			s["uniqueItems"] = true
		case 3:
			s["x-kubernetes-list-type"] = m.one("set", "map", "atomic", "odd")
		case 4:
			s["x-kubernetes-map-type"] = m.one("granular", "atomic", "odd")
		case 5:
			s["additionalProperties"] = m.chance(50)
		case 6:
			s["x-kubernetes-embedded-resource"] = true
		}
	}
	return s
}

func (m *maker) junctors(s node) {
	inner := func() node {
		switch s["type"] {
		case "integer", "number":
			return node{"minimum": int64(m.Intn(4))}
		case "string":
			return []node{{"pattern": "^a"}, {"minLength": int64(2)}, {"enum": []any{"a", "abc"}}, {"format": m.one("ipv4", "date", "uuid")}}[m.Intn(4)]
		case "object":
			return []node{{"required": []any{m.one("a", "b")}}, {"properties": node{"a": node{"enum": []any{int64(1), "a"}}}}, {"minProperties": int64(1)}}[m.Intn(3)]
		case "array":
			return []node{{"minItems": int64(1)}, {"maxItems": int64(1)}}[m.Intn(2)]
		}
		return node{}
	}
	switch m.Intn(4) {
	case 0:
		s["anyOf"] = []any{inner(), inner()}
	case 1:
		s["oneOf"] = []any{inner(), inner()}
	case 2:
		s["allOf"] = []any{inner(), inner()}
	case 3:
		s["not"] = inner()
	}
}

func (m *maker) bare(depth int) node {
	if depth <= 0 {
		return m.scalar()
	}
	switch m.Intn(12) {
	case 0, 1, 2:
		return m.scalar()
	case 3, 4, 5:
		return m.object(depth)
	case 6:
		s := node{"type": "object", "additionalProperties": m.schema(depth - 1)}
		if m.chance(70) {
			s["maxProperties"] = int64(1 + m.Intn(3))
		}
		if m.chance(20) {
			s["minProperties"] = int64(1)
		}
		m.rules(s, "map")
		return s
	case 7, 8:
		s := node{"type": "array", "items": m.schema(depth - 1)}
		if m.chance(80) {
			s["maxItems"] = int64(1 + m.Intn(4))
		}
		if m.chance(20) {
			s["minItems"] = int64(1 + m.Intn(2))
		}
		m.rules(s, "array")
		return s
	case 9:
		items := m.scalar()
		delete(items, "nullable")
		s := node{"type": "array", "items": items, "x-kubernetes-list-type": "set", "maxItems": int64(3)}
		m.rules(s, "array")
		return s
	case 10:
		item := m.object(depth)
		item["properties"].(node)["k"] = node{"type": m.one("string", "integer"), "maxLength": int64(5)}
		item["required"] = []any{"k"}
		if m.odd && m.chance(20) {
			delete(item, "required")
		}
		return node{"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"k"}, "maxItems": int64(3)}
	default:
		s := node{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
		if m.chance(40) {
			s["x-kubernetes-embedded-resource"] = true
		}
		if m.chance(40) {
			s["properties"] = node{"a": m.schema(depth - 1)}
		}
		if m.chance(30) && s["x-kubernetes-embedded-resource"] == nil {
			delete(s, "type")
		}
		return s
	}
}

func (m *maker) object(depth int) node {
	properties := node{}
	var required []any
	for _, name := range []string{"a", "b", "c", "d"} {
		if m.chance(60) {
			properties[name] = m.schema(depth - 1)
			if m.chance(15) {
				required = append(required, name)
			}
		}
	}
	s := node{"type": "object", "properties": properties}
	if required != nil {
		s["required"] = required
	}
	if m.chance(10) {
		s["maxProperties"] = int64(1 + m.Intn(3))
	}
	if m.chance(5) {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	m.rules(s, "object")
	return s
}

func (m *maker) root() node {
	m.odd = m.chance(12)
	return node{"type": "object", "properties": node{"spec": m.object(3)}}
}

func (m *maker) any(depth int) any {
	switch m.Intn(9) {
	case 0:
		return nil
	case 1:
		return int64(m.Intn(5) - 1)
	case 2:
		return m.chance(50)
	case 3:
		return []float64{0.5, 1.5, -2.25, 1e10}[m.Intn(4)]
	case 4, 5:
		if depth > 0 {
			list := []any{}
			for range m.Intn(3) {
				list = append(list, m.any(depth-1))
			}
			return list
		}
	case 6:
		if depth > 0 {
			object := node{}
			for _, name := range []string{"a", "b", "zz"} {
				if m.chance(40) {
					object[name] = m.any(depth - 1)
				}
			}
			return object
		}
	}
	return m.text()
}

// value makes a value that fits, except where it does not: strange says how often.
func (m *maker) value(s node, strange int) any {
	if m.chance(strange) {
		return m.any(2)
	}
	if m.chance(3) {
		return nil
	}
	if list, ok := s["enum"].([]any); ok && m.chance(70) {
		return list[m.Intn(len(list))]
	}
	switch s["type"] {
	case "integer":
		return int64(m.Intn(6) - 1)
	case "number":
		return []any{int64(1), 0.5, 1.5, int64(3), 2.75}[m.Intn(5)]
	case "boolean":
		return m.chance(50)
	case "string":
		if max, ok := s["maxLength"].(int64); ok && m.chance(70) {
			text := []rune(m.text())
			return string(text[:min(len(text), int(max))])
		}
		return m.text()
	case "array":
		items, _ := s["items"].(node)
		list := []any{}
		for range m.Intn(4) {
			list = append(list, m.value(items, strange))
		}
		return list
	case "object":
		object := node{}
		properties, _ := s["properties"].(node)
		for _, name := range sorted(properties) {
			if m.chance(70) {
				object[name] = m.value(properties[name].(node), strange)
			}
		}
		if others, ok := s["additionalProperties"].(node); ok {
			for _, name := range []string{"a", "b", "zz"} {
				if m.chance(40) {
					object[name] = m.value(others, strange)
				}
			}
		}
		if m.chance(strange) || s["x-kubernetes-preserve-unknown-fields"] == true {
			object["zz"] = m.any(2)
		}
		if s["x-kubernetes-embedded-resource"] == true && m.chance(80) {
			object["apiVersion"], object["kind"] = m.one("v1", "v1", "g/v1", ""), m.one("A", "A", "b c")
			object["metadata"] = node{"name": m.one("m", "M_", "m-n")}
		}
		return object
	}
	if s["x-kubernetes-int-or-string"] == true && m.chance(60) {
		return int64(m.Intn(9))
	}
	return m.any(2)
}

func (m *maker) objects(schema node) []*Object {
	var all []*Object
	make := func(strange int) node {
		object := m.value(schema, 0)
		made, ok := object.(node)
		if !ok {
			made = node{}
		}
		if spec, ok := m.value(schema["properties"].(node)["spec"].(node), strange).(node); ok {
			made["spec"] = spec
		}
		made["apiVersion"], made["kind"], made["metadata"] = "g.io/v1", "Thing", node{"name": "thing"}
		return made
	}
	for range 3 {
		o := &Object{New: make(m.Intn(2) * 8)}
		if m.chance(30) {
			o.Old = make(6)
			if m.chance(70) {
				// Most of it stays as it was.
				for _, name := range sorted(o.Old) {
					if m.chance(60) {
						o.New[name] = runtime.DeepCopyJSONValue(o.Old[name])
					}
				}
			}
		}
		all = append(all, o)
	}
	return all
}
