import { apiVersionOf } from '../../../shared/api/api-version.ts'
import { formatSelectorObject } from '../../../shared/api/selectors/label-selector.ts'
import { badRequest, plainError, resourceNotFound } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { scaleAccess } from '../../apiextensions/scale.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { ScaleAccess } from '../../kind/scale-access.ts'
import type { ManagedFieldsEntry } from '../../patch/managed-fields.ts'
import type { FieldsV1 } from '../../patch/structured-merge/fields.ts'
import type { AdmissionView } from '../../registry/admission-plugin.ts'
import { invalid, invalidObject } from '../../validation/field-error.ts'
import { scaleOwners, withScaleOwners } from './scale-owners.ts'

/** autoscaling/v1 Scale: a view of an object that shows, and lets one write, how many replicas it has. */
export interface Scale extends KubeObject {
  spec: { replicas?: number }
  status: { replicas: number; selector?: string }
}

export const scaleKind: ResourceDefinition = {
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  plural: 'scales',
  singular: 'scale',
  namespaced: true,
  schema: 'io.k8s.api.autoscaling.v1.Scale',
  columns: [
    { ...nameColumn, format: '' },
    column('Desired', 'How many replicas are wanted.', { type: 'integer' }),
    column('Available', 'How many replicas were seen.', { type: 'integer' }),
    ageColumn,
  ],
  cells({ metadata, spec, status }, nowMs) {
    const { replicas = 0 } = (spec ?? {}) as Scale['spec']
    const { replicas: seen = 0 } = (status ?? {}) as Scale['status']
    return [metadata.name, replicas, seen, age(metadata.creationTimestamp, nowMs)]
  },
  strategy: {},
  example: { metadata: { name: 'example' } },
}

/** Describes the columns as those of any custom resource, as upstream does. */
export const customScaleKind: ResourceDefinition = {
  ...scaleKind,
  columns: [nameColumn, ...(scaleKind.columns ?? []).slice(1, -1), { ...ageColumn, type: 'date' }],
}

/** Stands for the replicas of a custom resource that has none: a write has to set them. */
const unset = -2_147_483_648

/**
 * An object as its Scale shows it, and as a write of the Scale changes it. Admission is asked about the Scale, too, not
 * about what is scaled.
 */
export class ScaleView implements AdmissionView {
  readonly group = scaleKind.group
  readonly version = scaleKind.version
  readonly kind = scaleKind.kind
  readonly access: ScaleAccess
  /** Leads to the replicas of the object. */
  readonly path: FieldsV1
  readonly #resource: ResourceDefinition
  readonly #name: string

  /** Throws a StatusError (404) if the kind has no Scale. */
  constructor(resource: ResourceDefinition, name = '') {
    const { custom, subresources } = resource
    const access = custom ? custom.scale : subresources?.scale ? workloadScale : undefined
    if (access === undefined) throw resourceNotFound()
    this.access = access
    this.path = access.specReplicasPath
      .slice(1)
      .split('.')
      .reduceRight<FieldsV1>((fields, name) => ({ [`f:${name}`]: fields }), {})
    this.#resource = resource
    this.#name = name
  }

  show(object: KubeObject): Scale {
    const replicas = this.access.specReplicas(object) ?? unset
    const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
    const selector = this.access.selector(object)
    return {
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: replicas === 0 ? {} : { replicas },
      status: { replicas: this.access.statusReplicas(object), ...(selector && { selector }) },
    }
  }

  /** Throws a StatusError (500) if a custom resource has something else in the place of a number or the selector. */
  showChecked(object: KubeObject): Scale {
    for (const field of ['spec', 'status', 'selector'] as const) {
      const problem = field !== 'selector' || this.access.selectorPath ? this.access.problem(object, field) : undefined
      if (problem) throw plainError(problem)
    }
    return this.show(object)
  }

  /** Returns the Scale with the owners of the replicas, as its managers see it. */
  owned(object: KubeObject, scale = this.show(object)): Scale {
    return { ...scale, metadata: { ...scale.metadata, managedFields: scaleOwners(object, this.path) } }
  }

  /** Sets the replicas of an object to those of its Scale. */
  change(object: KubeObject, { spec }: KubeObject): void {
    const { replicas = 0 } = (spec ?? {}) as Scale['spec']
    if (replicas === unset)
      throw badRequest(`the spec replicas field ${JSON.stringify(this.access.specReplicasPath)} cannot be empty`)
    // The rules of a custom resource refuse its own negative replicas.
    if (replicas < 0 && this.access === workloadScale) throw negativeReplicas(this.#name, replicas)
    this.access.setSpecReplicas(object, replicas)
  }

  /** Changes an object as its Scale was written: its replicas, their owners, and what the write expects of it. */
  write(object: KubeObject, scale: Scale): void {
    this.change(object, scale)
    const { resourceVersion, uid, managedFields = [] } = scale.metadata
    const { metadata } = object
    if (resourceVersion) metadata.resourceVersion = resourceVersion
    if (uid) metadata.uid = uid
    const at = { apiVersion: apiVersionOf(this.#resource), path: this.path }
    metadata.managedFields = withScaleOwners(object, managedFields as ManagedFieldsEntry[], at)
  }
}

const negativeReplicas = (name: string, replicas: number) =>
  invalidObject(scaleKind, name, [invalid('spec.replicas', replicas, 'must be greater than or equal to 0')])

/** All built-in kinds that scale keep their replicas in the same fields. */
const workloadScale: ScaleAccess = {
  ...scaleAccess({ specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }),
  selector({ spec }) {
    const selector = (spec as { selector?: Record<string, unknown> } | undefined)?.selector
    if (!selector) return ''
    const isPlain = !('matchLabels' in selector) && !('matchExpressions' in selector)
    return formatSelectorObject(isPlain ? { matchLabels: selector as Record<string, string> } : selector)
  },
}
