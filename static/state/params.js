/**
 * A link's parameters, from its query and from what comes after `#`. What a person typed comes after it: browsers send that to no
 * server, so no log and no limit on a request's head sees it.
 */

/** Every parameter of an address (`?a=b#c=d`). What comes after `#` wins; an anchor there is no parameter. @param {string} address */
export function paramsIn(address) {
  const [search, hash = ""] = split(address);
  const params = new URLSearchParams(search);
  if (!isAnchor(hash)) for (const [name, value] of new URLSearchParams(hash)) params.set(name, value);
  return params;
}

/** The path, the query, and after `#` those parameters that `isTyped`. @param {URLSearchParams} params @param {(name: string) => boolean} isTyped */
export function addressOf(params, isTyped) {
  const all = [...params];
  const [query, hash] = [false, true].map((typed) =>
    new URLSearchParams(all.filter(([name]) => isTyped(name) === typed)).toString(),
  );
  return `/${query && `?${query}`}${hash && `#${hash}`}`;
}

/** An address with another parameter in its query. @param {string} address @param {string} name @param {string} value */
export function withParam(address, name, value) {
  const [path, hash] = split(address);
  return `${path}${path.includes("?") ? "&" : "?"}${name}=${value}${hash && `#${hash}`}`;
}

/** The name of an element, as a link within a page has it. @param {string} hash  without its `#` */
export const isAnchor = (hash) => hash !== "" && !hash.includes("=");

/** @param {string} address @returns {[string, string]} */
export function split(address) {
  const at = address.indexOf("#");
  return at < 0 ? [address, ""] : [address.slice(0, at), address.slice(at + 1)];
}
