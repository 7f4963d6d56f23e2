/** The other members: the endpoints of the Service, as the API server knows them. */
import { readFileSync } from 'node:fs'
import { ask } from './ask.mjs'

const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, NAMESPACE, SERVICE, POD_IP } = process.env
const account = '/var/run/secrets/kubernetes.io/serviceaccount'
const path = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`
const url = `https://${host}:${port}${path}?labelSelector=kubernetes.io/service-name=${SERVICE}`

/**
 * `[{ address, isServing, isTerminating }]`, without this member. Asked again each time: nothing here can be out of
 * date.
 */
export async function findPeers() {
  const ca = readFileSync(`${account}/ca.crt`)
  // The kubelet renews the token.
  const authorization = `Bearer ${readFileSync(`${account}/token`, 'utf8')}`
  const { status, said } = await ask(url, { ca, headers: { authorization } })
  if (status !== 200) throw new Error(`the API server answers ${status} to a list of EndpointSlices: ${said}`)
  return JSON.parse(said)
    .items.flatMap(({ endpoints }) => endpoints ?? [])
    .map(({ addresses: [address], conditions: { serving, terminating } }) => ({
      address,
      isServing: serving,
      isTerminating: terminating,
    }))
    .filter(({ address }) => address !== POD_IP)
}

/** Addresses of the members that take requests and are not about to end. */
export async function remainingPeers() {
  const peers = await findPeers()
  return peers.filter(({ isServing, isTerminating }) => isServing && !isTerminating).map(({ address }) => address)
}

/** `serving`, `ending` or `gone`: what has become of the member that had this address. */
export async function stateOf(address) {
  const peer = (await findPeers()).find((peer) => peer.address === address)
  if (peer) return peer.isTerminating ? 'ending' : 'serving'
  // No endpoint (yet): a member that has just started answers.
  return ask(memberUrl(address, '/ready')).then(
    () => 'serving',
    ({ code }) => (code === 'ECONNREFUSED' ? 'gone' : 'serving'),
  )
}

export const memberUrl = (address, path) => `http://${address}:8080${path}`
