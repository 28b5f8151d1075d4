(function () {
  "use strict";
  var tip = document.getElementById("tip");
  function show(event) {
    var mark = event.target.closest && event.target.closest("[data-tip]");
    if (!mark) { tip.hidden = true; return; }
    tip.textContent = mark.getAttribute("data-tip");
    tip.hidden = false;
    var box = tip.getBoundingClientRect();
    var x = Math.min(event.clientX + 12, window.innerWidth - box.width - 8);
    var y = event.clientY - box.height - 10;
    tip.style.left = Math.max(8, x) + "px";
    tip.style.top = (y < 8 ? event.clientY + 16 : y) + "px";
  }
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", function () { tip.hidden = true; }, true);
  function value(row, column) {
    var cell = row.cells[column];
    var number = cell.getAttribute("data-v");
    return number === null ? cell.textContent : Number(number);
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    var body = table.tBodies[0];
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
      var first = body.rows[0] && body.rows[0].cells[column];
      if (first && first.classList.contains("number")) { head.classList.add("number-head"); }
      head.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th[aria-sort]").forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        Array.from(body.rows).sort(function (a, b) {
          var x = value(a, column), y = value(b, column);
          var order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
          return down ? -order : order;
        }).forEach(function (row) { body.appendChild(row); });
      });
    });
  });
})();
