import { parseAccept } from './negotiation.ts'

export const openapiV2ProtobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
/** What clients ask for, although no media type can have an `@`: an answer that says so is not understood. */
const askedAs = [openapiV2ProtobufType, 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf']

/** Old kubectls (to 1.28) take the document in no other form. */
export function takesOnlyProtobuf(accept: string | undefined): boolean {
  const types = parseAccept(accept ?? '').map(({ type }) => type)
  return types.length > 0 && types.every((type) => askedAs.includes(type))
}

/**
 * gnostic's openapi.v2.Document with its head alone. Such a kubectl looks up merge keys in it; for a type that it does not find there it
 * takes those that it was built with, and validation it leaves to the server.
 */
export function openapiV2Protobuf(info: { title: string; version: string }): Buffer {
  const document = { swagger: 1, info: 2, paths: 8 }
  return Buffer.concat([
    field(document.swagger, Buffer.from('2.0')),
    field(document.info, Buffer.concat([field(1, Buffer.from(info.title)), field(2, Buffer.from(info.version))])),
    field(document.paths, Buffer.alloc(0)),
  ])
}

/** A length-delimited field, shorter than 128 bytes. */
function field(number: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content])
}
