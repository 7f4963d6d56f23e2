import type { KubeObject } from '../../shared/api/types.ts'
import type { JSONSchemaProps } from '../schema/json-schema.ts'

/** Describes a CustomResourceDefinition (apiextensions.k8s.io/v1) in its JSON form. */
export interface CustomResourceDefinition extends KubeObject {
  spec: CustomResourceDefinitionSpec
  status?: CustomResourceDefinitionStatus
}
export interface CustomResourceDefinitionSpec {
  group: string
  names: CustomResourceDefinitionNames
  scope: string
  versions: CustomResourceDefinitionVersion[] | null
  conversion?: CustomResourceConversion
  preserveUnknownFields?: boolean
}
export interface CustomResourceDefinitionNames {
  plural: string
  singular?: string
  shortNames?: string[]
  kind: string
  listKind?: string
  categories?: string[]
}
export interface CustomResourceDefinitionVersion {
  name: string
  served: boolean
  storage: boolean
  deprecated?: boolean
  deprecationWarning?: string
  schema?: { openAPIV3Schema?: JSONSchemaProps }
  subresources?: CustomResourceSubresources
  additionalPrinterColumns?: CustomResourceColumnDefinition[]
  selectableFields?: SelectableField[]
}
export interface CustomResourceSubresources {
  status?: Record<string, never>
  scale?: CustomResourceSubresourceScale
}
export interface CustomResourceSubresourceScale {
  specReplicasPath: string
  statusReplicasPath: string
  labelSelectorPath?: string
}
export interface CustomResourceColumnDefinition {
  name: string
  type: string
  format?: string
  description?: string
  priority?: number
  jsonPath: string
}
export interface SelectableField {
  jsonPath: string
}
export interface CustomResourceConversion {
  strategy: string
  webhook?: {
    clientConfig?: {
      url?: string
      service?: { namespace: string; name: string; path?: string; port?: number }
      caBundle?: string
    }
    conversionReviewVersions: string[] | null
  }
}
export interface CustomResourceDefinitionStatus {
  conditions: CustomResourceDefinitionCondition[] | null
  acceptedNames: CustomResourceDefinitionNames
  storedVersions: string[] | null
}
export interface CustomResourceDefinitionCondition {
  type: string
  status: string
  lastTransitionTime?: string
  reason?: string
  message?: string
}

export const conditionOf = (
  crd: CustomResourceDefinition,
  type: string,
): CustomResourceDefinitionCondition | undefined => crd.status?.conditions?.find((condition) => condition.type === type)
export const isConditionTrue = (crd: CustomResourceDefinition, type: string): boolean =>
  conditionOf(crd, type)?.status === 'True'

export const storageVersionOf = (crd: CustomResourceDefinition): CustomResourceDefinitionVersion | undefined =>
  crd.spec.versions?.find((version) => version.storage)

/** Returns the version of stored values that name no version: older releases of Kubestage wrote such values. */
export const firstStorageVersion = (crd: Pick<CustomResourceDefinition, 'spec' | 'status'>): string | undefined =>
  crd.status?.storedVersions?.[0] ?? crd.spec.versions?.find((version) => version.storage)?.name
