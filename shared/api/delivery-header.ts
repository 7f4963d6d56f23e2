/**
 * Matches the names that `preStop.reasonDelivery.header` may have. The server refuses other names, and the kubelet does
 * not send them.
 */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/**
 * Matches headers that say how long the request is, where it goes, or how the connection is used (RFC 9110, 7.6.1). A
 * reason does not fit in any of them.
 */
const framing =
  /^(connection|content-length|expect|host|http2-settings|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i

/** Says what is wrong with the name; undefined if it is valid. */
export function deliveryHeaderProblem(name: string): string | undefined {
  if (!token.test(name)) return 'must be an HTTP header name: one or more token characters of RFC 9110'
  return framing.test(name) ? 'may not be a header that frames the request or controls its connection' : undefined
}
