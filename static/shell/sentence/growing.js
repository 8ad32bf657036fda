/** A field as high as its text, where the browser does not do that by itself (CSS field-sizing). */

/** @param {HTMLTextAreaElement} field @returns {() => void} to be called when its text may have changed */
export function createGrowing(field) {
  if (CSS.supports("field-sizing", "content")) return () => {};
  let fitted = "";
  const fit = () => {
    const now = `${field.clientWidth} ${field.value}`;
    if (now === fitted) return; // measuring makes the browser lay out the page
    fitted = now;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
  };
  field.addEventListener("input", fit);
  return fit;
}
