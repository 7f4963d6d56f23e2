/** Kinds whose objects are kept as a real server keeps them, and what is not done about them. */
export const unattended: Readonly<Record<string, string>> = {
  '/Service': 'has its addresses and ports; carries traffic with `--network pod`',
  '/PersistentVolume': 'is mounted if it is a `hostPath` or `local`',
  'storage.k8s.io/StorageClass': 'volumes are made for `kubestage.dev/host-path`',
  'storage.k8s.io/CSIDriver': 'no drivers are called',
  'storage.k8s.io/VolumeAttachment': 'nothing is attached',
  'storage.k8s.io/VolumeAttributesClass': 'no volume is modified',
  'networking.k8s.io/Ingress': 'nothing is routed',
  'networking.k8s.io/NetworkPolicy': 'enforced with `--network pod`',
  'networking.k8s.io/ServiceCIDR': 'no addresses are taken from it',
  'resource.k8s.io/ResourceClaim': 'no devices are allocated',
  'resource.k8s.io/ResourceClaimTemplate': 'no claims are made of it',
}
