/** The few things of Node that tests use. All of @types/node would also replace the browser's types (setTimeout). */

declare module "node:test" {
  export function test(name: string, check: () => void | Promise<void>): Promise<void>;
}

declare module "node:assert/strict" {
  const assert: {
    ok(value: unknown, message?: string): asserts value;
    equal(actual: unknown, expected: unknown, message?: string): void;
    notEqual(actual: unknown, expected: unknown, message?: string): void;
    fail(message: string): never;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    notDeepEqual(actual: unknown, expected: unknown, message?: string): void;
    match(actual: string, expected: RegExp, message?: string): void;
    doesNotMatch(actual: string, expected: RegExp, message?: string): void;
    throws(code: () => unknown, expected?: object, message?: string): void;
    rejects(promise: Promise<unknown> | (() => Promise<unknown>), expected?: object, message?: string): Promise<void>;
  };
  export default assert;
}

declare module "node:fs" {
  export function readFileSync(path: string | URL, encoding: "utf8"|"utf-8"): string;
  export function readFileSync(path: string | URL): Uint8Array<ArrayBuffer>;
}

declare module "node:zlib" {
  export function crc32(data: Uint8Array): number;
  export function deflateSync(data: Uint8Array): Uint8Array<ArrayBuffer>;
}

declare const process: {
  argv: string[];
  env: Record<string, string | undefined>;
  cpuUsage(): { user: number; system: number };
  exit(code: number): never;
};
