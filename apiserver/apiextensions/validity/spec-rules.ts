import { SchemaWork } from '../../schema/schema-work.ts'
import { invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { dns1035Label, dns1123Subdomain } from '../../validation/names.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import type { WorkLimits } from '../../work-limits.ts'
import { APPROVAL_ANNOTATION, approvalOf } from '../approval.ts'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '../custom-resource-definition.ts'
import { validateConversion } from './conversion-rules.ts'
import { internalForm, printVersions } from './internal-form.ts'
import { requireNames, validateNames } from './names-rules.ts'
import {
  hasPart,
  validateColumn,
  validateDeprecation,
  validateSchema,
  validateSelectableFields,
  validateSubresources,
} from './version-rules.ts'

/** Validates a CustomResourceDefinition's spec and status. For an update, `old` is the definition before. */
export function validateDefinition(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
  limits: WorkLimits,
): FieldError[] {
  const versions = crd.spec.versions ?? []
  return [
    ...validateSpec(crd.spec, unchangedVersions(versions, old?.spec.versions ?? []), new SchemaWork(limits)),
    ...validateNames(crd.status?.acceptedNames ?? { plural: '', kind: '' }, 'status.acceptedNames'),
    ...validateStoredVersions(crd.status?.storedVersions ?? null, versions),
    ...validateApproval(crd),
    ...(crd.spec.preserveUnknownFields === true
      ? [
          invalid(
            'spec.preserveUnknownFields',
            true,
            'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
          ),
        ]
      : []),
  ]
}

/** Names of the versions whose schemas were accepted before. */
function unchangedVersions(
  versions: readonly CustomResourceDefinitionVersion[],
  before: readonly CustomResourceDefinitionVersion[],
): Set<string> {
  const schemas = new Map(before.map(({ name, schema }) => [name, schema?.openAPIV3Schema]))
  const unchanged = versions.filter(
    ({ name, schema }) => schemas.has(name) && deepEqual(schemas.get(name), schema?.openAPIV3Schema),
  )
  return new Set(unchanged.map(({ name }) => name))
}

const withoutSchema = 'may only be set when `version.schema.openAPIV3Schema` is not included'

function validateSpec(spec: CustomResourceDefinitionSpec, unchanged: Set<string>, work: SchemaWork): FieldError[] {
  const path = 'spec'
  const internal = internalForm(spec)
  const versions = spec.versions ?? []
  const names = versions.map(({ name }) => name)
  const statusEnabled = versions.some((version) => version.subresources?.status !== undefined)
  return [
    ...validateGroup(spec.group, `${path}.group`),
    ...validateScope(spec.scope, `${path}.scope`),
    ...(internal.schema === undefined ? requireSchemas(versions, `${path}.versions`) : []),
    ...validateDefaultsArePruned(spec, `${path}.preserveUnknownFields`),
    ...internal.versions.flatMap((version, index) => {
      const at = `${path}.versions[${index}]`
      const schema = version.schema?.openAPIV3Schema ?? internal.schema
      const nameErrors = dns1035Label(version.name)
      return [
        ...(nameErrors.length > 0 ? [invalid(`${at}.name`, version.name, nameErrors.join(','))] : []),
        ...validateDeprecation(version, at),
        ...validateSchema(version.schema?.openAPIV3Schema, `${at}.schema`, {
          statusEnabled: versions[index]?.subresources?.status !== undefined,
          unchanged: unchanged.has(version.name),
          work,
        }),
        ...validateSubresources(version.subresources, `${at}.subresources`),
        ...(version.additionalPrinterColumns ?? []).flatMap((column, nth) =>
          validateColumn(column, `${at}.additionalPrinterColumns[${nth}]`),
        ),
        // With one schema for all versions, no version has one of its own.
        ...(version.selectableFields?.length && version.schema?.openAPIV3Schema === undefined
          ? [invalid(`${at}.selectableFields`, '', withoutSchema)]
          : validateSelectableFields(version.selectableFields, schema, `${at}.selectableFields`)),
      ]
    }),
    ...(new Set(names).size < names.length
      ? [invalid(`${path}.versions`, printVersions(internal.versions), 'must contain unique version names')]
      : []),
    ...(versions.filter((version) => version.storage).length === 1
      ? []
      : [
          invalid(
            `${path}.versions`,
            spec.versions ? printVersions(internal.versions) : null,
            'must have exactly one version marked as storage version',
          ),
        ]),
    ...validateFirstVersion(names[0], `${path}.version`),
    ...requireNames(spec.names, `${path}.names`),
    ...validateNames(spec.names, `${path}.names`),
    ...validateSchema(internal.schema, `${path}.validation`, {
      statusEnabled,
      work,
      unchanged: unchanged.has(names[0] ?? ''),
    }),
    ...validateSubresources(internal.subresources, `${path}.subresources`),
    ...(internal.additionalPrinterColumns ?? []).flatMap((column, index) =>
      validateColumn(column, `${path}.additionalPrinterColumns[${index}]`),
    ),
    ...(internal.selectableFields?.length && internal.schema === undefined
      ? [invalid(`${path}.selectableFields`, '', 'may only be set when validations.schema is included')]
      : validateSelectableFields(internal.selectableFields, internal.schema, `${path}.selectableFields`)),
    ...validateStrategy(spec, `${path}.conversion.strategy`),
    ...validateConversion(spec.conversion, `${path}.conversion`),
  ]
}

const validateDefaultsArePruned = (
  { preserveUnknownFields, versions }: CustomResourceDefinitionSpec,
  path: string,
): FieldError[] =>
  preserveUnknownFields === true && (versions ?? []).some(hasDefaults)
    ? [invalid(path, true, 'must be false in order to use defaults in the schema')]
    : []

const validateStrategy = (
  { preserveUnknownFields, conversion }: CustomResourceDefinitionSpec,
  path: string,
): FieldError[] =>
  preserveUnknownFields === true && conversion !== undefined && conversion.strategy !== 'None'
    ? [invalid(path, conversion.strategy, 'must be None if spec.preserveUnknownFields is true')]
    : []

const requireSchemas = (versions: readonly CustomResourceDefinitionVersion[], path: string): FieldError[] =>
  versions.flatMap(({ schema }, index) =>
    schema?.openAPIV3Schema === undefined ? [required(`${path}[${index}].schema.openAPIV3Schema`)] : [],
  )

const hasDefaults = ({ schema }: CustomResourceDefinitionVersion): boolean =>
  schema?.openAPIV3Schema !== undefined && hasPart(schema.openAPIV3Schema, (part) => part.default !== undefined)

/** The internal form has it as the version, by its old name. */
function validateFirstVersion(name: string | undefined, path: string): FieldError[] {
  const errors = name ? dns1035Label(name) : []
  return errors.length > 0 ? [invalid(path, name, errors.join(','))] : []
}

function validateGroup(group: string, path: string): FieldError[] {
  if (!group) return [required(path)]
  const errors = dns1123Subdomain(group)
  if (errors.length > 0) return [invalid(path, group, errors.join(','))]
  return group.includes('.') ? [] : [invalid(path, group, 'should be a domain with at least one dot')]
}

const SCOPES = ['Cluster', 'Namespaced']
function validateScope(scope: string, path: string): FieldError[] {
  if (!scope) return [required(path)]
  return SCOPES.includes(scope) ? [] : [notSupported(path, scope, SCOPES)]
}

function validateStoredVersions(
  stored: string[] | null,
  versions: readonly CustomResourceDefinitionVersion[],
): FieldError[] {
  const path = 'status.storedVersions'
  if (stored === null || stored.length === 0) return [invalid(path, stored, 'must have at least one stored version')]
  const left = new Map(stored.map((version, index) => [version, index]))
  const errors: FieldError[] = []
  for (const { name, storage } of versions)
    if (!left.delete(name) && storage) errors.push(invalid(path, stored, `must have the storage version ${name}`))
  for (const [version, index] of left)
    errors.push(
      invalid(
        `${path}[${index}]`,
        version,
        `missing from spec.versions; ${version} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${version} and removes ${version} from status.storedVersions`,
      ),
    )
  return errors
}

/** Definitions in `*.k8s.io` and `*.kubernetes.io` need an annotation with their approval. */
function validateApproval(crd: CustomResourceDefinition): FieldError[] {
  const state = approvalOf(crd)
  const path = `metadata.annotations[${APPROVAL_ANNOTATION}]`
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111'
  if (state === 'missing')
    return [required(path, `protected groups must have approval annotation "${APPROVAL_ANNOTATION}", ${see}`)]
  if (state === 'invalid')
    return [
      invalid(
        path,
        crd.metadata.annotations?.[APPROVAL_ANNOTATION],
        `protected groups must have approval annotation "${APPROVAL_ANNOTATION}" with either a URL or a reason starting with "unapproved", ${see}`,
      ),
    ]
  return []
}

/**
 * Returns an error for each changed field that is immutable: group and plural always, scope and kind once the
 * definition is established.
 */
export function validateDefinitionUpdate(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition,
  options: { established: boolean },
): FieldError[] {
  const fixed = (path: string, value: unknown, before: unknown): FieldError[] =>
    value === before ? [] : [invalid(path, value, 'field is immutable')]
  return [
    ...(options.established
      ? [
          ...fixed('spec.scope', crd.spec.scope, old.spec.scope),
          ...fixed('spec.names.kind', crd.spec.names.kind, old.spec.names.kind),
        ]
      : []),
    ...fixed('spec.group', crd.spec.group, old.spec.group),
    ...fixed('spec.names.plural', crd.spec.names.plural, old.spec.names.plural),
  ]
}
