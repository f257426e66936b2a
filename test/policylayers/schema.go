package policylayers

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// Schema is that of a CRD, as an API server has it.
type Schema struct {
	structural *structuralschema.Structural
	values     validation.SchemaValidator
	rules      *cel.Validator
}

// NewSchema compiles the schema of a CRD's only version.
func NewSchema(crd *apiextensionsv1.CustomResourceDefinition) (*Schema, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil); err != nil {
		return nil, fmt.Errorf("convert the schema of %s: %w", crd.Name, err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", crd.Name, err)
	}
	values, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, fmt.Errorf("validator of %s: %w", crd.Name, err)
	}
	return &Schema{structural: structural, values: values, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// Decode processes an object as an API server does once it has read it from a request.
func (s *Schema) Decode(object map[string]any) {
	pruning.Prune(object, s.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	s.Default(object)
}

// Default fills in the defaults of the schema.
func (s *Schema) Default(object map[string]any) { defaulting.Default(object, s.structural) }

// Validate returns the schema's errors for a new object, or for the update of old. Unchanged parts of an update are
// not rejected.
func (s *Schema) Validate(ctx context.Context, object, old map[string]any) error {
	if old == nil {
		errs := append(validation.ValidateCustomResource(nil, object, s.values), listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
		return s.withRules(ctx, errs, object, nil)
	}
	correlation := common.NewCorrelatedObject(object, old, &model.Structural{Structural: s.structural})
	errs := validation.ValidateCustomResourceUpdate(nil, object, old, s.values, validation.WithRatcheting(correlation))
	if len(listtype.ValidateListSetsAndMaps(nil, s.structural, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	}
	return s.withRules(ctx, errs, object, old, cel.WithRatcheting(correlation))
}

// withRules adds the errors of the schema's rules. An API server evaluates them only for objects with valid values.
func (s *Schema) withRules(ctx context.Context, errs field.ErrorList, object, old map[string]any, options ...cel.Option) error {
	if len(errs) > 0 || s.rules == nil {
		return errs.ToAggregate()
	}
	var before any
	if old != nil {
		before = old
	}
	errs, _ = s.rules.Validate(ctx, nil, s.structural, object, before, celconfig.RuntimeCELCostBudget, options...)
	return errs.ToAggregate()
}
