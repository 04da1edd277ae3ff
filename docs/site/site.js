// SPDX-License-Identifier: Apache-2.0
// The theme remembers the colours of the first visit. This script lets a page follow the system until the
// reader uses the switch.
(function () {
    "use strict";
    var dark = window.matchMedia("(prefers-color-scheme: dark)");
    var key = "hora-colours-chosen";
    var inputs = document.querySelectorAll("form[data-md-component=palette] input");

    function isChosen() {
        try {
            return localStorage.getItem(key) !== null;
        } catch (error) {
            return false; // a browser that stores nothing
        }
    }

    function follow() {
        var wanted = inputs[dark.matches ? 1 : 0];
        if (wanted && !isChosen() && !wanted.checked)
            wanted.click();
    }

    document.querySelectorAll("form[data-md-component=palette] label").forEach(function (label) {
        label.addEventListener("click", function () {
            try {
                localStorage.setItem(key, "1");
            } catch (error) {
                return;
            }
        });
    });
    dark.addEventListener("change", follow);
    follow();
})();
