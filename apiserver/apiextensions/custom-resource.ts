import { parseStored } from '../../shared/api/json/exact-json.ts'
import { forbidden } from '../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { compareVersions } from '../kind/compare-versions.ts'
import { encodeObject } from '../kind/encode-object.ts'
import type { ConversionWebhook, ResourceDefinition, Strategy } from '../kind/resource-definition.ts'
import { storageVersionIn } from '../kind/storage-version.ts'
import { typeHead } from '../registry/stored-object.ts'
import { replaceContent } from '../registry/writes/replace-content.ts'
import { applyDefaults } from '../schema/defaulting.ts'
import type { JSONSchemaProps } from '../schema/json-schema.ts'
import { prune } from '../schema/pruning.ts'
import { isQualifiedFinalizer } from '../validation/names.ts'
import { deepEqual } from '../values/deep-equal.ts'
import type { WorkLimits } from '../work-limits.ts'
import type { VersionWebhook } from './conversion/version-webhook.ts'
import {
  type CustomResourceDefinition,
  type CustomResourceDefinitionVersion,
  firstStorageVersion,
  type SelectableField,
  storageVersionOf,
} from './custom-resource-definition.ts'
import { decodeCustomResource } from './decode-custom-resource.ts'
import { parseFieldPath } from './field-path.ts'
import { customManagedKind } from './managed-kind.ts'
import { printerColumns } from './printer-columns.ts'
import { scaleAccess, valueAt } from './scale.ts'
import {
  type ValidationRules,
  validateCustomResource,
  validateCustomResourceStatus,
} from './validate-custom-resource.ts'

/** A schema that says nothing keeps everything. */
const ANYTHING: JSONSchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const schemaOf = (version: CustomResourceDefinitionVersion | undefined): JSONSchemaProps =>
  version?.schema?.openAPIV3Schema ?? ANYTHING

export interface CustomResourceOptions {
  /** Objects written after this revision already follow the definition's present schema. */
  writtenUnderSchemaSince: number
  /** Returns whether the definition is being deleted. Then creates are refused. */
  isTerminating(): boolean
  /** Returns the checks of a schema's x-kubernetes-validations; undefined if it has none. */
  rulesOf?(schema: JSONSchemaProps, celSteps: number): ValidationRules['rules']
  limits: WorkLimits
  /** The webhook that converts between versions; undefined: they differ in their apiVersion and schema alone. */
  webhook?: VersionWebhook
}

/** Returns the definition of one served version of a custom resource, to be served like a built-in kind. */
export function customResource(
  crd: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  { writtenUnderSchemaSince, isTerminating, rulesOf, limits, webhook }: CustomResourceOptions,
): ResourceDefinition {
  const { group, scope } = crd.spec
  const names = crd.status?.acceptedNames ?? crd.spec.names
  const schema = schemaOf(version)
  const stored = storageVersionOf(crd)
  const storedSchema = schemaOf(stored)
  const isStorage = stored?.name === version.name
  const scale = version.subresources?.scale && scaleAccess(version.subresources.scale)
  const apiVersion = `${group}/${version.name}`
  const check = rulesOf?.(schema, limits.celSteps)
  const rules: ValidationRules = { apiVersion, kind: names.kind, schema, scale, rules: check, limits }
  return {
    group,
    version: version.name,
    storageVersion: stored?.name,
    kind: names.kind,
    plural: names.plural,
    singular: names.singular ?? '',
    listKind: names.listKind,
    itemHead: typeHead({ group, version: version.name, kind: names.kind }),
    namespaced: scope === 'Namespaced',
    shortNames: names.shortNames,
    categories: names.categories,
    verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
    schema: '',
    ...printerColumns(version.additionalPrinterColumns),
    selectableFields: selectableFields(version.selectableFields),
    subresources: { status: version.subresources?.status !== undefined, scale: scale !== undefined },
    deprecationWarning: deprecationWarning(version, crd),
    strategy: strategyOf(crd, version, { rules, isTerminating }),
    custom: {
      schema,
      decode: (body, nulls) => decodeCustomResource(body, schema, nulls),
      present: (entry) => {
        const storedIn = storageVersionIn(entry) ?? firstStorageVersion(crd)
        const isOwn = storedIn === version.name
        if (isOwn && isStorage && entry.revision > writtenUnderSchemaSince) return undefined
        if (webhook && !isOwn) return webhook.form(entry.value, version.name)
        const object = parseStored(entry.value) as KubeObject
        normalise(object, schemaOf(crd.spec.versions?.find(({ name }) => name === storedIn)))
        if (!isOwn) prune(object, schema, { root: true })
        return encodeObject(object)
      },
      toStorage: (object) => {
        if (!isStorage) prune(object, storedSchema, { root: true })
        // A create has dropped the status that the decoder filled in.
        if (storedSchema.properties?.status?.default !== undefined) applyDefaults(object, storedSchema)
      },
      get managedKind() {
        const versions = new Map((crd.spec.versions ?? []).map((other) => [`${group}/${other.name}`, schemaOf(other)]))
        return customManagedKind(
          { apiVersion, kind: names.kind, hasStatus: version.subresources?.status !== undefined },
          versions,
        )
      },
      scale,
      ...(webhook && stored && { webhook: conversionWebhook(crd, { webhook, version, stored }) }),
    },
    example: { apiVersion, kind: names.kind, metadata: { name: 'example' } },
  }
}

/** Converts objects from one version to another by asking a webhook. */
function conversionWebhook(
  crd: CustomResourceDefinition,
  {
    webhook,
    version,
    stored,
  }: { webhook: VersionWebhook; version: CustomResourceDefinitionVersion; stored: CustomResourceDefinitionVersion },
): ConversionWebhook {
  const versions = crd.spec.versions ?? []
  const shown = (object: KubeObject, name: string): KubeObject => {
    normalise(object, schemaOf(versions.find((other) => other.name === name)))
    return object
  }
  const others = versions.filter((other) => other.served && other.name !== stored.name)
  const encoders = new Map(
    others.map(({ name }) => [name, (object: KubeObject) => encodeObject(shown(object, name))] as const),
  )
  return {
    async toStorage(object) {
      const [converted] = await webhook.convert([object], version.name, stored.name)
      if (converted && converted !== object) replaceContent(object, shown(converted, stored.name))
    },
    announce: (value) => webhook.announce(value, encoders),
    present: (values) =>
      webhook.convertStored(values, version.name, (object) => encodeObject(shown(object, version.name))),
    async convert(object, name) {
      const [converted] = await webhook.convert([object], version.name, name)
      return shown(converted!, name)
    },
    async between(object, from, to) {
      const [converted] = await webhook.convert([object], versionIn(from), versionIn(to))
      return converted!
    },
  }
}

const versionIn = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf('/') + 1)

/**
 * An old value as the schema of the version it is stored in would have it now. Of defaults that make it too large, it
 * has the first ones: the object must stay readable.
 */
function normalise(object: KubeObject, schema: JSONSchemaProps): void {
  prune(object, schema, { root: true })
  applyDefaults(object, schema)
}

function strategyOf(
  crd: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  { rules, isTerminating }: { rules: ValidationRules } & Pick<CustomResourceOptions, 'isTerminating'>,
): Strategy {
  const hasStatus = version.subresources?.status !== undefined
  return {
    prepareForCreate: (object) => {
      if (isTerminating())
        throw forbidden(
          { group: crd.spec.group, plural: crd.spec.names.plural },
          object.metadata.name ?? '',
          'create not allowed while custom resource definition is terminating',
        )
      if (hasStatus) delete object.status
    },
    prepareForUpdate: (object, old, { subresource }) => {
      if (subresource !== 'status') return
      object.metadata = { ...old.metadata, managedFields: object.metadata.managedFields }
      // What is no status before and after has not changed, and is not validated.
      if (object.status === null && old.status === undefined) delete object.status
    },
    validate: (object, errors) => {
      errors.push(...validateCustomResource(object, undefined, rules))
    },
    validateUpdate: (object, old, errors, { subresource, warn }) => {
      const validate = subresource === 'status' ? validateCustomResourceStatus : validateCustomResource
      errors.push(...validate(object, old, rules, warn))
    },
    warnings: ({ metadata }, old) => finalizerWarnings(metadata.finalizers ?? [], old?.metadata.finalizers ?? []),
    unqualifiedFinalizers: true,
    allowUnconditionalUpdate: false,
    generation: { changed: (object, old) => !deepEqual(desired(object, hasStatus), desired(old, hasStatus)) },
  }
}

/** Warns of new finalizers without a domain: for custom resources such names are advice, no rule. */
function finalizerWarnings(finalizers: string[], old: string[]): string[] {
  const added = [...new Set(finalizers)].filter((name) => !old.includes(name) && !isQualifiedFinalizer(name))
  return added.sort().map((name) => {
    const how = name.includes('.')
      ? 'a domain-qualified finalizer name including a path (/)'
      : 'a domain-qualified finalizer name'
    return `metadata.finalizers: ${JSON.stringify(name)}: prefer ${how} to avoid accidental conflicts with other finalizer writers`
  })
}

/** Returns what the user wants of an object: all but metadata, and but a status that is written separately. */
function desired(object: KubeObject, hasStatus: boolean): Record<string, unknown> {
  const { metadata: _metadata, status, ...rest } = object
  return hasStatus || status === undefined ? rest : { ...rest, status }
}

function selectableFields(fields: SelectableField[] | undefined): ResourceDefinition['selectableFields'] {
  if (fields === undefined) return undefined
  return Object.fromEntries(
    fields.map(({ jsonPath }) => {
      const path = parseFieldPath(jsonPath) ?? []
      return [jsonPath.slice(1), (object: KubeObject) => String(valueAt(object, path) ?? '')]
    }),
  )
}

/** The newest served version that is ahead of a deprecated one, and is not deprecated itself, is recommended. */
function deprecationWarning(
  { name, deprecated, deprecationWarning }: CustomResourceDefinitionVersion,
  { spec: { group, names, versions } }: CustomResourceDefinition,
): string | undefined {
  if (deprecated !== true) return undefined
  if (deprecationWarning !== undefined) return deprecationWarning
  const [better] = (versions ?? [])
    .filter((other) => other.served && !other.deprecated && compareVersions(other.name, name) < 0)
    .map((other) => other.name)
    .sort(compareVersions)
  const instead = better === undefined ? '' : `; use ${group}/${better} ${names.kind}`
  return `${group}/${name} ${names.kind} is deprecated${instead}`
}
