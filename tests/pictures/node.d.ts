/** What of Node and jsdom the pictures use: see ../js/node.d.ts. */

declare const Buffer: any;

declare namespace NodeJS {
  interface Timeout {}
}

declare module "node:fs" {
  export function existsSync(path: string | URL): boolean;
  export function mkdirSync(path: string | URL, options: { recursive: true }): void;
  export function readdirSync(path: string | URL): string[];
  export function rmSync(path: string | URL): void;
  export function writeFileSync(path: string | URL, data: string | Uint8Array): void;
}

declare module "node:url" {
  export function fileURLToPath(url: URL): string;
}

declare module "node:zlib" {
  export function crc32(data: Uint8Array): number;
  export function deflateSync(data: Uint8Array, options: { level: number }): Uint8Array;
  export function inflateSync(data: Uint8Array): Uint8Array;
  export function gunzipSync(data: Uint8Array): Uint8Array<ArrayBuffer>;
  export function gzipSync(data: Uint8Array, options: { level: number }): Uint8Array;
}

declare module "jsdom" {
  export class VirtualConsole {}
  export class JSDOM {
    constructor(html: string, options?: { url: string; pretendToBeVisual: boolean; virtualConsole: VirtualConsole });
    window: any;
  }
}

declare class Float16Array extends Uint16Array {
  static from(data: ArrayLike<number>): Float16Array;
}
