const settings = Array.from({ length: 24 }, (_, i) => ({
  name: `SETTING_${String(i).padStart(2, '0')}`,
  value: `the value of setting ${i}, as long as such values are`,
}))

/** Sleeps, and ends at once when asked to, also as process 1. */
export const sleeper = ['sh', '-c', "trap 'exit 0' TERM; sleep 3600 & wait"]

interface Sample {
  spec: object
}

/** Many pods like the sample, as an apply has it: without a pod, so that nothing but the apply is measured. */
export function sampleDeployment(name: string): object {
  const labels = { app: 'bench' }
  const { spec } = samplePod(name) as Sample
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }
}

/** A pod of about 3 KB as its author writes it. Its container only sleeps: a program of this machine, or an image's. */
export function samplePod(name: string, image?: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: { app: 'bench', tier: 'backend', release: 'r-2026-11' },
      annotations: {
        'example.com/owner': 'the bench',
        'example.com/note': 'an object as large as those in real clusters',
      },
    },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'main',
          ...(image ? { image } : { image: 'busybox:1.37', command: sleeper }),
          ports: [
            { name: 'http', containerPort: 8080 },
            { name: 'metrics', containerPort: 9090 },
          ],
          resources: { requests: { cpu: '1m', memory: '1Mi' } },
          env: settings,
        },
      ],
    },
  }
}
