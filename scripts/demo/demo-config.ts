/** Where the demo's parts listen. */
export interface DemoPorts {
  readonly listen: number;
  readonly admin: number;
  readonly ops: number;
  readonly openai: number;
  readonly vllm: number;
  /** A port on which nothing listens: a backend that is down. */
  readonly nobody: number;
}

/** The configuration that the demo runs: two model servers, one broken backend, a tenant with limits. */
export function demoConfig(ports: DemoPorts, secretFile: string, socketDir: string): string {
  return `version: 1
listen: { address: 127.0.0.1, port: ${ports.listen}, admin_port: ${ports.admin} }
server:
  workers: 1
  socket_dir: ${JSON.stringify(socketDir)}
  ops: { address: 127.0.0.1, port: ${ports.ops} }
auth:
  issuers:
    - { issuer: demo, algorithms: [HS256], secret: "\${file:${secretFile}}" }
backends:
  - name: demo-openai
    dialect: openai
    endpoints: [ { url: "http://127.0.0.1:${ports.openai}/v1" } ]
    credentials: { header: authorization, value: "Bearer demo-key-of-the-openai-server" }
    health: { http: { path: /health, interval: 5s, timeout: 1s, unhealthy_after: 3 } }
  - name: demo-vllm
    dialect: vllm-generate
    endpoints: [ { url: "http://127.0.0.1:${ports.vllm}" } ]
    health: { http: { path: /health, interval: 5s, timeout: 1s, unhealthy_after: 3 } }
  - name: demo-down
    dialect: openai
    endpoints: [ { url: "http://127.0.0.1:${ports.nobody}/v1" } ]
models:
  - name: demo-chat
    deployments:
      - backend: demo-openai
        model: demo-chat
        price: { currency: USD, prompt_per_mtok: 0.50, cached_per_mtok: 0.05, completion_per_mtok: 1.50 }
        profile: { context: 8192 }
  - name: demo-llama
    deployments:
      - backend: demo-vllm
        model: demo-llama-weights
        chat_template: llama3
        price: { currency: USD, prompt_per_mtok: 0.05, cached_per_mtok: 0.01, completion_per_mtok: 0.08 }
        profile: { context: 8192 }
  - name: demo-resilient
    deployments:
      - backend: demo-down
        model: demo-chat
        price: { currency: USD, prompt_per_mtok: 0.50, cached_per_mtok: 0.05, completion_per_mtok: 1.50 }
    fallback: [ demo-llama ]
  - name: demo-secret
    deployments:
      - backend: demo-openai
        model: demo-chat
        price: { currency: USD, prompt_per_mtok: 10, cached_per_mtok: 5, completion_per_mtok: 30 }
tenants:
  - name: demo-team
    tier: premium
    limits: { requests_per_minute: 60, tokens_per_minute: 100000 }
`;
}
