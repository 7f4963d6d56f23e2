/** Volumes: one source each, and what each source needs. */
import { isNegativeQuantity } from '../../../../shared/api/quantities/quantity.ts'
import type { ObjectMeta, PodSpec } from '../../../../shared/api/types.ts'
import { duplicate, forbidden, invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dns1123Label, dns1123Subdomain } from '../../../validation/names.ts'
import { validateTemplateMeta } from '../../../validation/object-meta.ts'
import { validateDriverName } from '../driver-name.ts'
import {
  between,
  reject,
  validateChoice,
  validateLocalNonReservedPath,
  validateLocalPath,
  validateNoBacksteps,
} from '../messages.ts'
import { type ClaimSpec, validateClaimSpec } from '../volume-claim.ts'
import { hostPathTypes } from '../volume-rules.ts'
import { validateFieldRef, validateResourceRef, volumeFieldPaths } from './validate-env.ts'

export type Volume = NonNullable<PodSpec['volumes']>[number]
type Sources = Omit<Volume, 'name'>
type SourceName = keyof Sources
type Rule<Name extends SourceName> = (source: NonNullable<Sources[Name]>, path: string, errors: FieldErrors) => void
/** Checks of a source's members, in upstream's order of sources. */
type Rules = { [Name in SourceName]-?: Rule<Name> }

const needs =
  (...names: string[]) =>
  (source: object, path: string, errors: FieldErrors): void => {
    for (const name of names) if (!(source as Record<string, unknown>)[name]) errors.push(required(`${path}.${name}`))
  }

const FILE_MODE = 'must be a number between 0 and 0777 (octal), both inclusive'
const validateMode = (mode: number | undefined, field: string, errors: FieldErrors): void => {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) errors.push(invalid(field, mode, FILE_MODE))
}

interface KeyToPath {
  key: string
  path: string
  mode?: number
}
function validateItems(items: KeyToPath[] | undefined, path: string, errors: FieldErrors): void {
  for (const [index, item] of (items ?? []).entries()) {
    const at = `${path}[${index}]`
    if (!item.key) errors.push(required(`${at}.key`))
    if (!item.path) errors.push(required(`${at}.path`))
    validateLocalNonReservedPath(item.path ?? '', `${at}.path`, errors)
    validateMode(item.mode, `${at}.mode`, errors)
  }
}

/** 0 stands for the whole disk. */
const validatePartition = (partition: number | undefined, field: string, errors: FieldErrors): void => {
  if (partition && (partition < 0 || partition > 255)) errors.push(invalid(field, partition, between(1, 255)))
}
const NOT_ISCSI = 'must be valid format starting with iqn, eui, or naa'
const pullPolicies = ['Always', 'IfNotPresent', 'Never']

const rules: Rules = {
  emptyDir(source, path, errors) {
    if (source.sizeLimit !== undefined && isNegativeQuantity(source.sizeLimit)) {
      errors.push(forbidden(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity'))
    }
  },
  hostPath(source, path, errors) {
    if (!source.path) {
      errors.push(required(`${path}.path`))
      return
    }
    validateNoBacksteps(source.path, `${path}.path`, errors)
    validateChoice(source.type, hostPathTypes, `${path}.type`, errors)
  },
  gitRepo(source, path, errors) {
    needs('repository')(source, path, errors)
    validateLocalPath(source.directory ?? '', `${path}.directory`, errors)
  },
  // Upstream names the field otherwise.
  gcePersistentDisk(source, path, errors) {
    const at = path.replace(/[^.]+$/, 'persistentDisk')
    needs('pdName')(source, at, errors)
    validatePartition(source.partition, `${at}.partition`, errors)
  },
  awsElasticBlockStore(source, path, errors) {
    needs('volumeID')(source, path, errors)
    validatePartition(source.partition, `${path}.partition`, errors)
  },
  secret(source, path, errors) {
    needs('secretName')(source, path, errors)
    validateMode(source.defaultMode, `${path}.defaultMode`, errors)
    validateItems(source.items, `${path}.items`, errors)
  },
  nfs(source, path, errors) {
    needs('server', 'path')(source, path, errors)
    if (!source.path?.startsWith('/')) errors.push(invalid(`${path}.path`, source.path, 'must be an absolute path'))
  },
  iscsi(source, path, errors) {
    needs('targetPortal')(source, path, errors)
    if (!source.iqn) errors.push(required(`${path}.iqn`))
    else if (!/^(?:iqn|eui|naa)/.test(source.iqn)) {
      errors.push(invalid(`${path}.iqn`, source.iqn, NOT_ISCSI))
    }
    // Upstream writes the name small.
    if (source.initiatorName !== undefined && !/^(?:iqn|eui|naa)/.test(source.initiatorName))
      errors.push(invalid(`${path}.initiatorname`, source.initiatorName, NOT_ISCSI))
    if (source.lun < 0 || source.lun > 255) errors.push(invalid(`${path}.lun`, source.lun, between(0, 255)))
    if ((source.chapAuthDiscovery || source.chapAuthSession) && !source.secretRef)
      errors.push(required(`${path}.secretRef`))
  },
  glusterfs: needs('endpoints', 'path'),
  flocker(source, path, errors) {
    if (!source.datasetName && !source.datasetUUID) {
      errors.push(required(path, 'one of datasetName and datasetUUID is required'))
    }
    if (source.datasetName && source.datasetUUID) {
      errors.push(invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'))
    }
    if (source.datasetName?.includes('/')) {
      errors.push(invalid(`${path}.datasetName`, source.datasetName, "must not contain '/'"))
    }
  },
  persistentVolumeClaim: needs('claimName'),
  rbd: needs('monitors', 'image'),
  cinder(source, path, errors) {
    needs('volumeID')(source, path, errors)
    if (source.secretRef && !source.secretRef.name) errors.push(required(`${path}.secretRef.name`))
  },
  cephfs: needs('monitors'),
  quobyte({ registry, tenant, volume }, path, errors) {
    const pairs = 'must be a host:port pair or multiple pairs separated by commas'
    if (!registry) errors.push(required(`${path}.registry`, pairs))
    else if ((tenant ?? '').length > 64)
      errors.push(required(`${path}.tenant`, 'must be a UUID and may not exceed a length of 64 characters'))
    else
      for (const pair of registry.split(','))
        if (!/^(?:[^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(pair)) errors.push(invalid(`${path}.registry`, registry, pairs))
    if (!volume) errors.push(required(`${path}.volume`))
  },
  downwardAPI(source, path, errors) {
    validateMode(source.defaultMode, `${path}.defaultMode`, errors)
    for (const item of source.items ?? []) validateDownwardFile(item, path, errors)
  },
  fc(source, path, errors) {
    const [names, ids] = [source.targetWWNs ?? [], source.wwids ?? []]
    if (names.length === 0 && ids.length === 0) {
      errors.push(required(`${path}.targetWWNs`, 'must specify either targetWWNs or wwids, but not both'))
    }
    if (names.length > 0 && ids.length > 0) {
      errors.push(invalid(`${path}.targetWWNs`, names, 'targetWWNs and wwids can not be specified simultaneously'))
    }
    if (names.length > 0 && source.lun === undefined) {
      errors.push(required(`${path}.lun`, 'lun is required if targetWWNs is specified'))
    } else if (names.length > 0 && source.lun !== undefined && (source.lun < 0 || source.lun > 255))
      errors.push(invalid(`${path}.lun`, source.lun, between(0, 255)))
  },
  flexVolume(source, path, errors) {
    needs('driver')(source, path, errors)
    for (const key of Object.keys(source.options ?? {}))
      if (/(?:^|\.)(?:kubernetes|k8s)\.io$/i.test(key.replace(/\/.*/s, '')))
        errors.push(invalid(`${path}.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved'))
  },
  configMap(source, path, errors) {
    needs('name')(source, path, errors)
    validateMode(source.defaultMode, `${path}.defaultMode`, errors)
    validateItems(source.items, `${path}.items`, errors)
  },
  azureFile: needs('secretName', 'shareName'),
  vsphereVolume: needs('volumePath'),
  photonPersistentDisk: needs('pdID'),
  portworxVolume: needs('volumeID'),
  azureDisk: validateAzureDisk,
  storageos(source, path, errors) {
    const { volumeName, volumeNamespace, secretRef } = source
    if (!volumeName) errors.push(required(`${path}.volumeName`))
    else reject(errors, `${path}.volumeName`, volumeName, dns1123Label(volumeName))
    if (volumeNamespace) reject(errors, `${path}.volumeNamespace`, volumeNamespace, dns1123Label(volumeNamespace))
    if (secretRef && !secretRef.name) errors.push(required(`${path}.secretRef.name`))
  },
  projected: validateProjected,
  scaleIO: needs('gateway', 'system', 'volumeName'),
  csi(source, path, errors) {
    validateDriverName(source.driver, `${path}.driver`, errors)
    const secret = source.nodePublishSecretRef
    if (secret && !secret.name) errors.push(required(`${path}.nodePublishSecretRef.name`))
    // Upstream leaves the reference out of the path.
    else if (secret?.name) reject(errors, `${path}.name`, secret.name, dns1123Subdomain(secret.name))
  },
  ephemeral(source, path, errors) {
    if (!source.volumeClaimTemplate) {
      errors.push(required(`${path}.volumeClaimTemplate`))
      return
    }
    const { spec, metadata } = source.volumeClaimTemplate
    validateTemplateMeta(metadata, `${path}.volumeClaimTemplate.metadata`, errors)
    validateClaimSpec((spec ?? {}) as ClaimSpec, `${path}.volumeClaimTemplate.spec`, errors)
  },
  image(source, path, errors) {
    if (!source.reference) errors.push(required(`${path}.reference`))
    if (!pullPolicies.includes(source.pullPolicy ?? '')) {
      errors.push(notSupported(`${path}.pullPolicy`, source.pullPolicy, pullPolicies))
    }
  },
}

const cachingModes = ['None', 'ReadOnly', 'ReadWrite']
const diskKinds = ['Dedicated', 'Managed', 'Shared']

function validateAzureDisk(
  { diskName, diskURI, cachingMode, kind }: NonNullable<Sources['azureDisk']>,
  path: string,
  errors: FieldErrors,
): void {
  if (!diskName) errors.push(required(`${path}.diskName`))
  if (!diskURI) errors.push(required(`${path}.diskURI`))
  validateChoice(cachingMode, cachingModes, `${path}.cachingMode`, errors)
  validateChoice(kind, diskKinds, `${path}.kind`, errors)
  const [start, example] =
    kind === 'Managed'
      ? [
          '/subscriptions/',
          '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}',
        ]
      : ['https://', 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd']
  if (!(diskURI ?? '').startsWith(start)) errors.push(notSupported(`${path}.diskURI`, diskURI ?? '', [example]))
}

/** Maps sources to upstream's name in the error about a second source, where it differs. */
const oddNames: Partial<Record<SourceName, string>> = { cephfs: 'cephFS', downwardAPI: 'downwarAPI' }

type DownwardFile = NonNullable<NonNullable<Sources['downwardAPI']>['items']>[number]

function validateDownwardFile(file: DownwardFile, path: string, errors: FieldErrors): void {
  if (!file.path) errors.push(required(`${path}.path`))
  validateLocalNonReservedPath(file.path ?? '', `${path}.path`, errors)
  if (file.fieldRef) {
    validateFieldRef(file.fieldRef, volumeFieldPaths, `${path}.fieldRef`, errors)
    if (file.resourceFieldRef) {
      errors.push(invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'))
    }
  } else if (file.resourceFieldRef) validateResourceRef(file.resourceFieldRef, true, `${path}.resourceFieldRef`, errors)
  else errors.push(required(path, 'one of fieldRef and resourceFieldRef is required'))
  validateMode(file.mode, `${path}.mode`, errors)
}

type Projected = NonNullable<Sources['projected']>
type Projection = NonNullable<Projected['sources']>[number]

const MORE_THAN_ONE = 'may not specify more than 1 volume type per source'
const TEN_MINUTES = 600
const MAX_TOKEN_SECONDS = 2 ** 32

function validateProjected(projected: Projected, path: string, errors: FieldErrors): void {
  validateMode(projected.defaultMode, `${path}.defaultMode`, errors)
  const paths = new Set<string>()
  /** Secrets and ConfigMaps are blamed by their name, others by the path. */
  const claim = (file: string | undefined, blamed = file) => {
    if (!file) return
    if (paths.has(file)) errors.push(invalid(path, blamed, 'conflicting duplicate paths'))
    paths.add(file)
  }
  for (const [index, source] of (projected.sources ?? []).entries()) {
    validateProjection(source, `${path}.sources[${index}]`, claim, errors)
  }
}

function validateProjection(
  source: Projection,
  at: string,
  claim: (path: string | undefined, blamed?: string) => void,
  errors: FieldErrors,
): void {
  for (const name of ['secret', 'configMap'] as const) {
    const projection = source[name]
    if (!projection) continue
    if (!projection.name) errors.push(required(`${at}.${name}.name`))
    validateItems(projection.items, `${at}.${name}.items`, errors)
    for (const item of projection.items ?? []) claim(item.path, projection.name ?? '')
  }
  if (source.downwardAPI) {
    for (const item of source.downwardAPI.items ?? []) {
      validateDownwardFile(item, `${at}.downwardAPI`, errors)
      claim(item.path)
    }
  }
  if (source.serviceAccountToken) {
    const { expirationSeconds: seconds = 0, path } = source.serviceAccountToken
    const field = `${at}.serviceAccountToken`
    if (seconds < TEN_MINUTES) {
      errors.push(invalid(`${field}.expirationSeconds`, seconds, 'may not specify a duration less than 10 minutes'))
    }
    if (seconds > MAX_TOKEN_SECONDS) {
      errors.push(invalid(`${field}.expirationSeconds`, seconds, 'may not specify a duration larger than 2^32 seconds'))
    }
    // Upstream blames the volume, and does not look whether another source has the path.
    const volume = at.slice(0, at.lastIndexOf('.sources['))
    if (!path) errors.push(required(`${volume}.path`))
    else validateLocalNonReservedPath(path, `${volume}.path`, errors)
  }
  if (Object.keys(source).length > 1) errors.push(forbidden(at, MORE_THAN_ONE))
}

/** Validates the volumes and returns the valid ones by name, for the checks of the mounts. */
export function validateVolumes(
  volumes: Volume[],
  meta: ObjectMeta | undefined,
  path: string,
  errors: FieldErrors,
): Map<string, Volume> {
  const byName = new Map<string, Volume>()
  const created = new Set(volumes.filter(({ ephemeral }) => ephemeral).map(({ name }) => `${meta?.name}-${name}`))
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`
    const before = errors.length
    validateSources(volume, meta, at, errors)
    if (!volume.name) errors.push(required(`${at}.name`))
    else reject(errors, `${at}.name`, volume.name, dns1123Label(volume.name))
    if (byName.has(volume.name)) errors.push(duplicate(`${at}.name`, volume.name))
    if (errors.length === before) byName.set(volume.name, volume)
    const claim = volume.persistentVolumeClaim?.claimName
    if (claim && meta?.name && created.has(claim))
      errors.push(invalid(`${at}.persistentVolumeClaim.claimName`, claim, CREATED_CLAIM))
  }
  return byName
}
const CREATED_CLAIM = 'must not reference a PVC that gets created for an ephemeral volume'

/** Validates the members of one source, which a persistent volume may have as well. */
export function validateVolumeSource(name: string, source: object, path: string, errors: FieldErrors): void {
  const rule = rules[name as SourceName] as Rule<SourceName>
  rule(source as never, path, errors)
}

function validateSources(volume: Volume, meta: ObjectMeta | undefined, path: string, errors: FieldErrors): void {
  let given = 0
  for (const name of Object.keys(rules) as SourceName[]) {
    const source = volume[name]
    if (source === undefined) continue
    given++
    if (given > 1)
      errors.push(forbidden(`${path}.${oddNames[name] ?? name}`, 'may not specify more than 1 volume type'))
    else validateVolumeSource(name, source, `${path}.${name}`, errors)
  }
  if (volume.ephemeral && meta?.name && volume.name) {
    const claim = `${meta.name}-${volume.name}`
    for (const message of dns1123Subdomain(claim)) {
      errors.push(invalid(`${path}.name`, volume.name, `PVC name ${JSON.stringify(claim)}: ${message}`))
    }
  }
  if (given === 0) errors.push(required(path, 'must specify a volume type'))
}
