import { beginDeletion } from '../../apiextensions/cleanup.ts'
import {
  type CustomResourceDefinition,
  isConditionTrue,
  storageVersionOf,
} from '../../apiextensions/custom-resource-definition.ts'
import { unrecognizedFormats } from '../../apiextensions/unrecognized-formats.ts'
import { validateDefinition, validateDefinitionUpdate } from '../../apiextensions/validity/spec-rules.ts'
import { resource, type StrategyContext } from '../../kind/resource-definition.ts'
import { invalid } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { deepEqual } from '../../values/deep-equal.ts'

export const customresourcedefinition = resource<CustomResourceDefinition>({
  group: 'apiextensions.k8s.io',
  storageVersion: 'v1beta1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  schema: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition',
  subresources: { status: true },
  strategy: {
    unqualifiedFinalizers: true,
    applyDefaults,
    prepareForCreate: (crd) => {
      crd.status = { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: null }
      rememberStorageVersion(crd)
    },
    prepareForUpdate: (crd, old, context) => {
      if (context.subresource !== undefined) return
      crd.status = structuredClone(old.status)
      rememberStorageVersion(crd)
    },
    validate: (crd, errors, { limits }) => {
      validateName(crd, errors)
      errors.push(...validateDefinition(crd, undefined, limits))
    },
    validateUpdate: (crd, old, errors, context) => {
      if (context.subresource === 'status') return
      errors.push(
        ...validateDefinition(crd, old, context.limits),
        ...validateDefinitionUpdate(crd, old, { established: isConditionTrue(old, 'Established') }),
      )
    },
    warnings,
    deletion: { begin: beginDeletion, isHeld: () => false },
    allowUnconditionalUpdate: false,
    generation: { changed: (object, old) => !deepEqual(object.spec, old.spec) },
  },
  example: {
    metadata: { name: 'crontabs.stable.example.com' },
    spec: {
      group: 'stable.example.com',
      scope: 'Namespaced',
      names: { plural: 'crontabs', singular: 'crontab', kind: 'CronTab', shortNames: ['ct'] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  properties: { cronSpec: { type: 'string' }, replicas: { type: 'integer', minimum: 0 } },
                },
              },
            },
          },
        },
      ],
    },
  },
})

function applyDefaults(crd: CustomResourceDefinition): void {
  const { spec } = crd
  if (!spec.names.singular && spec.names.kind) spec.names.singular = spec.names.kind.toLowerCase()
  if (!spec.names.listKind && spec.names.kind) spec.names.listKind = `${spec.names.kind}List`
  spec.conversion ??= { strategy: 'None' }
  const service = spec.conversion.webhook?.clientConfig?.service
  if (service !== undefined) service.port ??= 443
  const storage = storageVersionOf(crd)
  if (crd.status !== undefined && !crd.status.storedVersions?.length && storage !== undefined)
    crd.status.storedVersions = [storage.name]
}

/** status.storedVersions names every version that objects may still be stored in. */
function rememberStorageVersion(crd: CustomResourceDefinition): void {
  const storage = storageVersionOf(crd)
  if (crd.status === undefined || storage === undefined || crd.status.storedVersions?.includes(storage.name)) return
  crd.status.storedVersions = [...(crd.status.storedVersions ?? []), storage.name]
}

function validateName({ spec, metadata }: CustomResourceDefinition, errors: FieldErrors): void {
  if (metadata.name === `${spec.names.plural}.${spec.group}`) return
  errors.push(invalid('metadata.name', metadata.name ?? '', 'must be spec.names.plural+"."+spec.group'))
}

function warnings(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
  context: StrategyContext,
): string[] {
  if (context.subresource !== undefined || (old !== undefined && deepEqual(crd.spec, old.spec))) return []
  const formats = (crd.spec.versions ?? []).flatMap((version) => unrecognizedFormats(version.schema?.openAPIV3Schema))
  return [...new Set(formats)].map((format) => `unrecognized format ${JSON.stringify(format)}`)
}
