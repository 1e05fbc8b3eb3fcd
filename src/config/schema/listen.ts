import { z } from 'zod';
import { port, text } from './scalar.ts';

export const listenSection = z
  .strictObject({
    address: text().default('0.0.0.0').describe('Address that Envoy listens on for clients. Default: 0.0.0.0.'),
    port: port().default(10_000).describe('Port that Envoy listens on for clients. Default: 10000.'),
    tls: z
      .strictObject({
        cert: text().describe('PEM file with the certificate chain. Relative to this file.'),
        key: text().describe('PEM file with the private key.'),
      })
      .optional()
      .describe('TLS towards clients. Default: plain HTTP/1.1 and HTTP/2.'),
    admin_port: port().default(9901).describe("Port of Envoy's admin listener, always on 127.0.0.1. Default: 9901."),
  })
  .describe("Envoy's listener for clients.");
