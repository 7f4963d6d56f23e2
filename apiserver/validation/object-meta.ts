/** Rules for metadata that hold for every kind. */
import type { ObjectMeta } from '../../shared/api/types.ts'
import { forbidden, invalid, required, tooLong } from './field-error.ts'
import type { FieldErrors } from './field-errors.ts'
import {
  isQualifiedFinalizer,
  labelValueMessages,
  maskTrailingDash,
  NOT_QUALIFIED_FINALIZER,
  qualifiedName,
} from './names.ts'

export type NameRule = (name: string, options: { prefix: boolean }) => string[]

const MAX_ANNOTATION_BYTES = 262_144

/** Returns whether all labels are valid, without an order of errors. */
function areGood(labels: Record<string, string>): boolean {
  for (const key in labels) {
    if (qualifiedName(key).length > 0 || labelValueMessages(labels[key]!).length > 0) return false
  }
  return true
}

/** Labels wherever they stand; the field is named without the key. */
export function validateLabels(labels: Record<string, string> | undefined, field: string, errors: FieldErrors): void {
  if (!labels || areGood(labels)) return
  for (const [key, value] of Object.entries(labels).sort(byKey)) {
    for (const message of qualifiedName(key)) errors.push(invalid(field, key, message))
    for (const message of labelValueMessages(value)) errors.push(invalid(field, value, message))
  }
}

export function validateAnnotations(
  annotations: Record<string, string> | undefined,
  field: string,
  errors: FieldErrors,
): void {
  if (!annotations) return
  let bytes = 0
  const bad: string[] = []
  for (const key in annotations) {
    if (qualifiedName(key.toLowerCase()).length > 0) bad.push(key)
    bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key]!)
  }
  for (const key of bad.sort()) {
    for (const message of qualifiedName(key.toLowerCase())) errors.push(invalid(field, key, message))
  }
  if (bytes > MAX_ANNOTATION_BYTES) errors.push(tooLong(field, MAX_ANNOTATION_BYTES))
}

const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : a > b ? 1 : 0)

export function validateObjectMeta(
  meta: ObjectMeta,
  options: { namespaced: boolean; validateName: NameRule; unqualifiedFinalizers?: boolean },
  errors: FieldErrors,
  path = 'metadata',
): void {
  const field = (name: string) => `${path}.${name}`
  if (meta.generateName) {
    for (const message of options.validateName(maskTrailingDash(meta.generateName), { prefix: true })) {
      errors.push(invalid(field('generateName'), meta.generateName, message))
    }
  }
  if (!meta.name) errors.push(required(field('name'), 'name or generateName is required'))
  else {
    for (const message of options.validateName(meta.name, { prefix: false })) {
      errors.push(invalid(field('name'), meta.name, message))
    }
  }
  if (options.namespaced && !meta.namespace) errors.push(required(field('namespace')))
  if (!options.namespaced && meta.namespace) {
    errors.push(forbidden(field('namespace'), 'not allowed on this type'))
  }
  if (meta.generation !== undefined && meta.generation < 0) {
    errors.push(invalid(field('generation'), meta.generation, 'must be greater than or equal to 0'))
  }
  validateLabels(meta.labels, field('labels'), errors)
  validateAnnotations(meta.annotations, field('annotations'), errors)
  validateOwnerReferences(meta, field('ownerReferences'), errors)
  validateFinalizers(meta.finalizers, field('finalizers'), errors)
  if (!options.unqualifiedFinalizers) validateFinalizerDomains(meta.finalizers, field('finalizers'), errors)
}

/** Returns the reference as Go prints it: its fields in their order. */
const inOrder = ({ apiVersion, kind, name, uid, ...rest }: NonNullable<ObjectMeta['ownerReferences']>[number]) => ({
  apiVersion,
  kind,
  name,
  uid,
  ...(rest.controller !== undefined && { controller: rest.controller }),
  ...(rest.blockOwnerDeletion !== undefined && { blockOwnerDeletion: rest.blockOwnerDeletion }),
})

/** Kinds that come and go too fast to own anything. */
const bannedOwners = new Set(['/v1, Kind=Event'])

function validateOwnerReferences(meta: ObjectMeta, field: string, errors: FieldErrors): void {
  let controller: string | undefined
  for (const owner of meta.ownerReferences ?? []) {
    const [version = '', group = ''] = owner.apiVersion.split('/').reverse()
    const parses = owner.apiVersion.split('/').length <= 2
    if (version === '' || !parses) {
      errors.push(invalid(`${field}.apiVersion`, owner.apiVersion, 'version must not be empty'))
    }
    for (const name of ['kind', 'name', 'uid'] as const) {
      if (owner[name] === '') errors.push(invalid(`${field}.${name}`, '', 'must not be empty'))
    }
    const ownerKind = `${group}/${version}, Kind=${owner.kind}`
    if (bannedOwners.has(ownerKind)) {
      errors.push(invalid(field, inOrder(owner), `${ownerKind} is disallowed from being an owner`))
    }
    const shown = `${owner.kind}/${owner.name}`
    if (owner.controller) {
      if (controller !== undefined) {
        errors.push(
          invalid(
            field,
            meta.ownerReferences?.map(inOrder),
            `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${shown}`,
          ),
        )
      } else controller = shown
    }
  }
}

function validateFinalizers(finalizers: string[] | undefined, field: string, errors: FieldErrors): void {
  for (const finalizer of finalizers ?? []) {
    for (const message of qualifiedName(finalizer)) errors.push(invalid(field, finalizer, message))
  }
  if (finalizers?.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.push(invalid(field, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'))
  }
}

function validateFinalizerDomains(finalizers: string[] | undefined, field: string, errors: FieldErrors): void {
  for (const [index, finalizer] of (finalizers ?? []).entries()) {
    if (!isQualifiedFinalizer(finalizer)) errors.push(invalid(`${field}[${index}]`, finalizer, NOT_QUALIFIED_FINALIZER))
  }
}

/** Rules between an object's old and new metadata; the registry has kept what the server owns. */
export function validateObjectMetaUpdate(
  meta: ObjectMeta,
  old: ObjectMeta,
  errors: FieldErrors,
  { finalizerDomains = false } = {},
): void {
  const path = 'metadata'
  if (old.deletionTimestamp !== undefined) {
    const known = new Set(old.finalizers)
    const added = (meta.finalizers ?? []).filter((finalizer) => !known.has(finalizer))
    if (added.length > 0) {
      errors.push(
        forbidden(
          `${path}.finalizers`,
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => JSON.stringify(name)).join(', ')}}`,
        ),
      )
    }
  }
  if (!meta.resourceVersion) {
    errors.push(invalid(`${path}.resourceVersion`, meta.resourceVersion ?? '', 'must be specified for an update'))
  }
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    errors.push(invalid(`${path}.generation`, meta.generation ?? 0, 'must not be decremented'))
  }
  for (const name of [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ] as const) {
    if (meta[name] !== old[name]) errors.push(invalid(`${path}.${name}`, meta[name] ?? null, 'field is immutable'))
  }
  validateLabels(meta.labels, `${path}.labels`, errors)
  validateAnnotations(meta.annotations, `${path}.annotations`, errors)
  validateOwnerReferences(meta, `${path}.ownerReferences`, errors)
  if (finalizerDomains) validateFinalizerDomains(meta.finalizers, `${path}.finalizers`, errors)
}

/**
 * Validates the metadata of a claim template: only labels and annotations may be set. Upstream:
 * ValidateTemplateObjectMeta.
 */
export function validateTemplateMeta(meta: Partial<ObjectMeta> | undefined, path: string, errors: FieldErrors): void {
  if (!meta) return
  validateAnnotations(meta.annotations, `${path}.annotations`, errors)
  validateLabels(meta.labels, `${path}.labels`, errors)
  for (const name of forbiddenInTemplates) {
    const value = (meta as Record<string, unknown>)[name]
    if (value !== undefined && value !== null && value !== '' && (value !== 0 || name === 'deletionGracePeriodSeconds'))
      errors.push(forbidden(`${path}.${name === 'uid' ? 'uID' : name}`, 'cannot be set'))
  }
}
/** The fields that a template may not have, in the order of Go's struct. */
const forbiddenInTemplates = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'ownerReferences',
  'finalizers',
  'managedFields',
]
