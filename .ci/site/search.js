// Adapts queries to the search, which adds a wildcard to each word and excludes pages with a word that has a dash before it.
// Stop words are removed: `a` would find every word that begins with an a. So are the dashes of flags.
(() => {
  const stopWords = new Set("a an and are be can do does for how i in is it my of on or the to what with".split(" "))
  const postMessage = Worker.prototype.postMessage
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message && message.type === 2 && typeof message.data === "string") {
      const words = message.data.split(/\s+/).map(word => word.replace(/^-+/, ""))
      const kept = words.filter(word => word && !stopWords.has(word.toLowerCase()))
      if (kept.length > 0) message = { ...message, data: kept.join(" ") }
    }
    return postMessage.call(this, message, ...rest)
  }
})()
