/** Satellites write objects of a kind into the storage with these, as the registry does. */
export { encodeObject } from './encode-object.ts'
export { trackFields } from './field-manager.ts'
export type { SharedServiceAddresses } from './resource-definition.ts'
